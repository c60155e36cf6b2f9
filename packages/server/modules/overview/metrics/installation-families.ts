import { secondMs } from '../../../platform/durations.ts';
import type { MetricFamily } from '../../../platform/metric-family.ts';

type Total = (name: string, status?: string) => number;

const jobEndings = ['completed', 'failed', 'cancelled'];

/**
 * What this installation has done so far. Endings that never happened are reported as 0, so that the first failure
 * shows as growth.
 */
export function totalFamilies(total: Total, isCutOff: boolean): MetricFamily[] {
  const endings = (name: string, statuses: readonly string[]) =>
    statuses.map((status) => ({ labels: { status }, value: total(name, status) }));
  return [
    {
      name: 'holdfast_backup_runs_total',
      help: 'Backups that ended, by outcome.',
      type: 'counter',
      samples: endings('backups', jobEndings),
    },
    {
      name: 'holdfast_restore_runs_total',
      help: 'Restores that ended, by outcome.',
      type: 'counter',
      samples: endings('restores', jobEndings),
    },
    {
      name: 'holdfast_webhook_deliveries_total',
      help: 'Deliveries to webhooks that ended, by outcome.',
      type: 'counter',
      samples: endings('deliveries', ['delivered', 'failed']),
    },
    {
      name: 'holdfast_source_reads_total',
      help: 'Documents read of the sources, as Google bills them.',
      type: 'counter',
      samples: [{ labels: {}, value: total('reads') }],
    },
    {
      name: 'holdfast_metrics_cut_off',
      help: '1 when there are more projects or schedules than one scrape tells of.',
      type: 'gauge',
      samples: [{ labels: {}, value: isCutOff ? 1 : 0 }],
    },
  ];
}

export function queueFamilies(counts: readonly { kind: string; state: string; count: number }[]): MetricFamily[] {
  return [
    {
      name: 'holdfast_queue_jobs',
      help: 'Jobs in the queue: waiting for a worker, delayed until later, active.',
      type: 'gauge',
      samples: counts.map(({ kind, state, count }) => ({ labels: { state, kind }, value: count })),
    },
  ];
}

export function clockFamily(aheadMs: number): MetricFamily {
  return {
    name: 'holdfast_clock_ahead_of_database_seconds',
    help: 'How far the clock of this process is ahead of the database; beyond 15 minutes either way nothing is removed for its age.',
    type: 'gauge',
    samples: [{ labels: {}, value: aheadMs / secondMs }],
  };
}
