import type { Handlers } from '../../http/call.ts';
import type { OverviewContext } from './context.ts';
import { followChanges } from './follow-changes.ts';
import { getOverview } from './get-overview.ts';

export function overviewHandlers(context: OverviewContext): Handlers {
  return {
    getOverview: async ({ organization }) => ({ data: await getOverview(context, organization.id) }),

    streamOrganizationEvents: async ({ organization, principal, signal }) => ({
      stream: await followChanges(context, { organization, principal }, signal),
      contentType: 'text/event-stream',
    }),
  };
}
