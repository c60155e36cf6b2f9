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
  summary: 'Show an overview',
  description:
    'For every project: whether it is protected, and if not why; its newest good backup compared with its schedule; its recovery window, last drill and open anomalies. Also the next runs, and stored bytes and reads by day.',
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
    'Server-sent events: the kind and id of what changed, as far as the caller may see it. A stream that nobody reads is closed.',
  access,
  success: { kind: 'stream', status: 200, contentTypes: ['text/event-stream'], schema: organizationChange },
  errors: [],
});
