import type { BackupsContext } from '../context.ts';
import { finishBackupJob, removeObjectsJob, runRangeJob } from '../jobs.ts';
import { admitBackups, firstJob } from './admission.ts';
import { failBackup } from './end-backup.ts';
import { tooLate } from './progress.ts';

const leftoverAgeMs = 600_000;

/** Looks after backups that nobody works on: lets waiting ones in, ends late ones, and hands lost work out again. */
export async function watchBackups(context: BackupsContext): Promise<void> {
  const { database, clock } = context.platform;
  await admitBackups(context.platform);
  const running = await database.system(async ({ client }) => {
    const { rows } = await client.query<Running>(
      `select b.id, b.organization_id, b.deadline_at, b.plan is not null as planned, b.imported, b.type
         from backups b join organizations o on o.id = b.organization_id and o.deleted_at is null
        where b.status = 'running' and b.deleted_at is null limit 1000`,
    );
    return rows;
  });
  for (const backup of running) {
    if (backup.deadline_at && backup.deadline_at <= clock.now()) {
      await failBackup(context, backup.organization_id, backup.id, tooLate());
    } else {
      await handOutAgain(context, backup);
    }
  }
}

interface Running {
  id: string;
  organization_id: string;
  deadline_at: Date | null;
  planned: boolean;
  imported: unknown;
  type: string;
}

/** Jobs are exclusive by their key: what is queued or running already is not queued again. */
async function handOutAgain(context: BackupsContext, backup: Running): Promise<void> {
  const { database, queue } = context.platform;
  const { id: backupId, organization_id: organizationId } = backup;
  await database.tenant(organizationId, async (transaction) => {
    if (!backup.planned) {
      await queue.enqueue(transaction, firstJob(backup), { organizationId, backupId }, { key: backupId });
      return;
    }
    const { rows } = await transaction.client.query<{ range: number }>(
      'select range from backup_ranges where backup_id = $1 and not is_complete',
      [backupId],
    );
    for (const { range } of rows)
      await queue.enqueue(
        transaction,
        runRangeJob,
        { organizationId, backupId, range },
        { key: `${backupId}/${range}` },
      );
    if (rows.length === 0)
      await queue.enqueue(transaction, finishBackupJob, { organizationId, backupId }, { key: backupId });
  });
}

/** Tries again to remove what was locked when its backup was deleted. */
export async function removeLeftovers({ platform: { database, queue, clock } }: BackupsContext): Promise<void> {
  await database.system(async (transaction) => {
    const { rows } = await transaction.client.query<{ id: string; organization_id: string }>(
      'select id, organization_id from backups where deleted_at < $1 limit 1000',
      [new Date(clock.now().getTime() - leftoverAgeMs)],
    );
    for (const { id, organization_id: organizationId } of rows)
      await queue.enqueue(transaction, removeObjectsJob, { organizationId, backupId: id }, { key: id });
  });
}
