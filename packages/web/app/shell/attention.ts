import { useAll } from '../api/calls.ts';

/** How many things of each page want somebody; shown in the left bar. */
export function useAttention(): Readonly<Record<string, number>> {
  const projects = useAll('listProjects', {});
  const destinations = useAll('listStorageDestinations', {});
  const webhooks = useAll('listWebhooks', {});
  return {
    projects: projects.rows?.filter(({ connection }) => connection.status !== 'connected').length ?? 0,
    webhooks:
      webhooks.rows?.filter(({ enabled, failingSince, disabledBecause }) => (enabled ? failingSince : disabledBecause))
        .length ?? 0,
    storage: destinations.rows?.filter(({ status }) => status === 'error').length ?? 0,
  };
}
