import * as common from './common.ts';
import * as connect from './connect.ts';
import * as newRestore from './new-restore.ts';
import * as organization from './organization.ts';
import * as overview from './overview.ts';
import * as pages from './pages.ts';
import * as recover from './recover.ts';
import * as schedules from './schedules.ts';
import * as shell from './shell.ts';
import * as time from './time.ts';

/** Every text of the dashboard, by where it stands. Another language is another set of these files. */
export const t = {
  ...common,
  ...shell,
  ...overview,
  ...connect,
  ...pages,
  ...recover,
  ...newRestore,
  ...organization,
  ...schedules,
  ...time,
};
