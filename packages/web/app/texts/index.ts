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

/** All texts of the dashboard, by place. Another language would be another set of these files. */
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
