import type { RunningJob } from '../../../platform/queue.ts';
import { type JobOutcome, type JobWatch, runJob } from '../../jobs/index.ts';
import { type BackupRow, backupStore } from '../backup-store.ts';
import type { BackupsContext } from '../context.ts';
import { admitBackups } from './admission.ts';
import { failBackup } from './end-backup.ts';
import { type Figures, reportProgress } from './progress.ts';

/**
 * Runs one job of a backup. It stops when the backup has ended or is late; a transient error is tried again, any other
 * fails the backup. Then waiting backups are admitted.
 */
export async function runBackupJob(
  context: BackupsContext,
  job: RunningJob<unknown>,
  row: BackupRow,
  work: (signal: AbortSignal, watch: JobWatch) => Promise<void>,
  figures?: Figures,
): Promise<JobOutcome> {
  const { platform } = context;
  const { organizationId, id: backupId } = row;
  const outcome = await runJob({
    platform,
    job,
    work,
    record: { backupId },
    check: (waitingFor) => reportProgress(context, row, { figures, waitingFor }),
    countFailure: () =>
      platform.database.tenant(organizationId, (transaction) =>
        backupStore.countFailure(transaction, organizationId, backupId),
      ),
    fail: async (reason) => void (await failBackup(context, row, reason)),
  });
  await admitBackups(platform);
  return outcome;
}
