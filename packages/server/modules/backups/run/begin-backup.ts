import { later } from '../../../platform/durations.ts';
import type { RunningJob } from '../../../platform/queue.ts';
import { admissionOf } from '../../jobs/index.ts';
import { backupStore } from '../backup-store.ts';
import type { BackupsContext } from '../context.ts';
import { backupEvent } from '../events/backup-events.ts';
import type { BackupJobData } from '../jobs.ts';
import { type LoadedBackup, loadBackup } from '../load-backup.ts';
import { backupTimeoutMs } from './backup-timeout.ts';

/**
 * Moves a backup from pending to running and emits the event, once. Undefined when there is nothing to begin: the
 * backup has ended, is already planned, or was admitted again after this job was enqueued.
 */
export async function beginBackup(
  context: BackupsContext,
  { data }: Pick<RunningJob<BackupJobData>, 'data'>,
): Promise<LoadedBackup | undefined> {
  const { database, clock, outbox } = context.platform;
  const { organizationId, backupId } = data;
  return database.tenant(organizationId, async (transaction) => {
    const loaded = await loadBackup(context, transaction, organizationId, backupId);
    if (!loaded) return undefined;
    const row = await backupStore.findLocked(transaction, organizationId, backupId);
    if (!row || admissionOf(row) !== (data.admission ?? 0)) return undefined;
    if (row.status === 'running' && row.plan === null) return { ...loaded, row };
    if (row.status !== 'pending') return undefined;
    const now = clock.now();
    const started = await backupStore.update(transaction, organizationId, backupId, {
      status: 'running',
      startedAt: now,
      deadlineAt: later(now, backupTimeoutMs(loaded.project.backupTimeoutMinutes)),
      phase: 'Planning',
      updatedAt: now,
    });
    const begun = { ...loaded, row: started };
    await outbox.emit(transaction, backupEvent('backup.started', begun));
    return begun;
  });
}
