import type { Handlers } from '../../http/call.ts';
import type { OverviewContext } from './context.ts';
import { followChanges } from './follow-changes.ts';
import { getOverview } from './get-overview.ts';

export function overviewHandlers(context: OverviewContext): Handlers {
  return {
    getOverview: async ({ organization }) => ({ data: await getOverview(context, organization.id) }),

    streamOrganizationEvents: async ({ organization, principal, signal }) => {
      const maySeeTeam = organization.role === 'owner' || organization.role === 'admin';
      return {
        stream: await followChanges(context, { organization, principal, maySeeTeam }, signal),
        contentType: 'text/event-stream',
      };
    },
  };
}
