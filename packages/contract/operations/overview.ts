import { member } from '../access.ts';
import { api, ok, operation } from '../operation.ts';
import { organizationChange, overview } from '../schemas/overview.ts';

const tag = 'Overview';
const access = member('viewer', 'organization:read');

export const getOverview = operation({
  id: 'getOverview',
  method: 'GET',
  path: api('/overview'),
  tag,
  summary: 'Show how everything is',
  description:
    'For every project whether it is protected and why not, its newest good backup against its schedule, its recovery window, its last drill and open anomalies; the next runs; stored bytes and reads by day.',
  access,
  success: ok(overview),
  errors: [],
});

export const streamOrganizationEvents = operation({
  id: 'streamOrganizationEvents',
  method: 'GET',
  path: api('/organizations/current/events'),
  tag,
  summary: 'Follow what changes',
  description:
    'Server-sent events: what changed, by kind and id, of what the caller may see. A stream that nobody reads is ended.',
  access,
  success: { kind: 'stream', status: 200, contentTypes: ['text/event-stream'], schema: organizationChange },
  errors: [],
});
