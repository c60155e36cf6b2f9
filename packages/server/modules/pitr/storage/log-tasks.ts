import type { StorageDependents, TaskResult, TaskRun } from '../../storage/index.ts';
import type { PitrContext } from '../context.ts';
import { migrateLogs } from './migrate-logs.ts';
import { findOrphanLogs, sweepLogs } from './orphan-logs.ts';
import { rescanLogs } from './rescan-logs.ts';

type Tasks = Pick<StorageDependents, 'orphans' | 'rescan' | 'sweep' | 'migrate'>;

/** Makes rescan, sweep and migration of a destination handle logs as well as backups. */
export function withLogs(context: PitrContext, tasks: Tasks): Tasks {
  const both = (ofBackups: (run: TaskRun) => Promise<TaskResult>, ofLogs: typeof sweepLogs) => async (run: TaskRun) =>
    joined(await ofBackups(run), await ofLogs(context, run));
  return {
    async *orphans(organizationId, destination, store, options) {
      yield* tasks.orphans(organizationId, destination, store, options);
      // Their keys come after those of backups.
      yield* findOrphanLogs(context, destination, store, options);
    },
    rescan: both(tasks.rescan, rescanLogs),
    sweep: both(tasks.sweep, sweepLogs),
    migrate: both(tasks.migrate, migrateLogs),
  };
}

function joined(backups: TaskResult, logs: TaskResult): TaskResult {
  const result: TaskResult = { ...backups };
  for (const name of ['found', 'registered', 'relinked', 'missing', 'skipped', 'removed', 'copied', 'bytes'] as const)
    if (logs[name] !== undefined) result[name] = (backups[name] ?? 0) + logs[name];
  if (logs.failures) result.failures = [...(backups.failures ?? []), ...logs.failures].slice(0, 100);
  if (logs.versionsKept) result.versionsKept = true;
  return result;
}
