import type { Transaction } from '../../../platform/database/database.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { JobDefinition, Queue } from '../../../platform/queue.ts';
import { admissionOf, admit, type JobKind, jobKey } from '../../jobs/index.ts';
import type { BackupRow } from '../backup-store.ts';
import {
  type BackupJobData,
  finishBackupJob,
  importBackupJob,
  mergeBackupJob,
  planBackupJob,
  runRangeJob,
} from '../jobs.ts';
import { type BackupJobRecord, backupAdmission, countOpenRanges } from './backup-admission-store.ts';
import { rangeStore } from './range-store.ts';

/** Lets waiting backups in, imports and merges among them. */
export async function admitBackups(platform: Pick<Platform, 'clock' | 'database' | 'queue'>): Promise<number> {
  return admit(platform, backupKind(platform.queue));
}

export function backupKind(queue: Queue): JobKind<BackupJobRecord> {
  return {
    name: 'backups',
    table: backupAdmission,
    enqueue: (transaction, backup, priority) =>
      backup.isPlanned ? enqueueRest(queue, transaction, backup) : enqueueFirst(queue, transaction, backup, priority),
  };
}

async function enqueueFirst(queue: Queue, transaction: Transaction, backup: BackupJobRecord, priority: number) {
  const { organizationId, id: backupId } = backup;
  const data = { organizationId, backupId, admission: admissionOf(backup) };
  const ranges = await rangePriority(transaction, organizationId);
  await queue.enqueue(transaction, firstJob(backup), data, { key: jobKey(backup), priority: priority + ranges });
}

/** Where the work on a backup begins. */
function firstJob({ type, imported }: BackupJobRecord): JobDefinition<BackupJobData> {
  if (imported !== null) return importBackupJob;
  return type === 'synthetic' ? mergeBackupJob : planBackupJob;
}

/** What is left to do for a backup that is planned: ranges, or the finish once all of them are complete. */
async function enqueueRest(queue: Queue, transaction: Transaction, { organizationId, id: backupId }: BackupJobRecord) {
  const ranges = await rangeStore.incomplete(transaction, organizationId, backupId);
  const priority = ranges.length > 0 ? await rangePriority(transaction, organizationId) : 0;
  await enqueueRanges(queue, transaction, { organizationId, id: backupId }, ranges, priority);
  if (ranges.length === 0) await enqueueFinish(queue, transaction, { organizationId, id: backupId });
}

type Planned = Pick<BackupRow, 'organizationId' | 'id'>;

export async function enqueueRanges(
  queue: Queue,
  transaction: Transaction,
  { organizationId, id: backupId }: Planned,
  ranges: Iterable<number>,
  priority: number,
): Promise<void> {
  for (const range of ranges) {
    const data = { organizationId, backupId, range };
    await queue.enqueue(transaction, runRangeJob, data, { key: `${backupId}/${range}`, priority });
  }
}

export async function enqueueFinish(queue: Queue, transaction: Transaction, { organizationId, id }: Planned) {
  await queue.enqueue(transaction, finishBackupJob, { organizationId, backupId: id }, { key: id, priority: 1 });
}

/** Jobs of an organization that has much under way come after those of one that has little. */
export async function rangePriority(transaction: Transaction, organizationId: string): Promise<number> {
  return -(await countOpenRanges(transaction, organizationId));
}
