import { useAll } from '../api/calls.ts';
import { standingOf } from '../format/webhooks.ts';

/** How many things of a page need attention, in the colour used on that page. */
export interface Attention {
  readonly count: number;
  readonly tone: 'risk' | 'fail';
}

/** Counts by page, shown in the left bar. */
export function useAttention(): Readonly<Record<string, Attention>> {
  const projects = useAll('listProjects', {});
  const destinations = useAll('listStorageDestinations', {});
  const webhooks = useAll('listWebhooks', {});
  return {
    projects: of('fail', projects.rows, ({ connection }) => connection.status !== 'connected'),
    webhooks: of('risk', webhooks.rows, (webhook) => standingOf(webhook).tone === 'risk'),
    storage: of('fail', destinations.rows, ({ status }) => status === 'error'),
  };
}

function of<Row>(
  tone: Attention['tone'],
  rows: readonly Row[] | undefined,
  wantsSomebody: (row: Row) => boolean,
): Attention {
  return { tone, count: rows?.filter(wantsSomebody).length ?? 0 };
}
