import { later, minuteMs } from '../../../platform/durations.ts';
import { openRecords, requeueLostWork } from '../../jobs/index.ts';
import { admitVerifications, verificationKind } from '../contents/start-verification.ts';
import type { BackupsContext } from '../context.ts';
import { removeObjectsJob } from '../jobs.ts';
import { admitBackups, backupKind } from './admission.ts';
import { type BackupJobRecord, backupAdmission, deletedBackups } from './backup-admission-store.ts';
import { failBackup } from './end-backup.ts';
import { timeoutProblem } from './progress.ts';

const leftoverAgeMs = 10 * minuteMs;

/** Ends late backups, admits waiting records, and enqueues lost jobs again. */
export async function requeueLostBackups(context: BackupsContext): Promise<void> {
  const { platform } = context;
  await endLateBackups(context);
  await admitBackups(platform);
  await admitVerifications(platform);
  await requeueLostWork(platform, backupKind(platform.queue));
  await requeueLostWork(platform, verificationKind(platform.queue));
}

async function endLateBackups(context: BackupsContext): Promise<void> {
  const { database, clock, log } = context.platform;
  const open = await database.system((transaction) => openRecords<BackupJobRecord>(transaction, backupAdmission));
  // A backup that cannot be ended must not keep the others from ending or beginning.
  for (const backup of open)
    if (backup.deadlineAt && backup.deadlineAt <= clock.now())
      await failBackup(context, backup, timeoutProblem(backup)).catch((error: unknown) =>
        log.warn({ err: error, backupId: backup.id }, 'a backup whose time is up could not be ended; tried again'),
      );
}

/** Tries again to remove objects that were locked when their backup was deleted. */
export async function removeLeftovers({ platform: { database, queue, clock } }: BackupsContext): Promise<void> {
  await database.system(async (transaction) => {
    for (const { id, organizationId } of await deletedBackups(transaction, later(clock.now(), -leftoverAgeMs)))
      await queue.enqueue(transaction, removeObjectsJob, { organizationId, backupId: id }, { key: `${id}/deleted` });
  });
}
