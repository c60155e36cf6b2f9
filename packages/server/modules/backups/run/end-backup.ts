import type { Transaction } from '../../../platform/database/database.ts';
import { later, secondMs } from '../../../platform/durations.ts';
import { Problem } from '../../../platform/problem.ts';
import { type StoredError, toJobError } from '../../job-error.ts';
import { admissionOf } from '../../jobs/index.ts';
import { reconnectCall } from '../../projects/index.ts';
import { type BackupRow, backupStore, type NewBackup } from '../backup-store.ts';
import { verifyAgain } from '../contents/start-verification.ts';
import type { BackupsContext } from '../context.ts';
import { backupEvent } from '../events/backup-events.ts';
import { removeObjectsJob } from '../jobs.ts';
import { loadBackup } from '../load-backup.ts';
import { copyStore } from '../storage/copy-store.ts';
import { rangeStore } from './range-store.ts';

/** Long enough for the workers of an ended backup to notice and stop writing. */
const settleMs = 4 * secondMs;

type Ended = Pick<BackupRow, 'organizationId' | 'id' | 'projectId' | 'admittedAt'>;

/**
 * Ends a backup as failed and removes what was written. False, and nothing is done, when it has ended already or was
 * admitted again.
 */
export async function failBackup(context: BackupsContext, backup: Ended, cause: unknown): Promise<boolean> {
  const { organizationId, id: backupId, projectId } = backup;
  const error = withReconnectCall(toJobError(cause, { backupId }), projectId);
  return context.platform.database.tenant(organizationId, async (transaction) => {
    const row = await endRow(context, transaction, backup, { status: 'failed', phase: 'Failed', error });
    if (!row) return false;
    const loaded = await loadBackup(context, transaction, organizationId, backupId);
    if (!loaded) return true;
    if (error.code === 'SOURCE_AUTH_ERROR' && !loaded.project.deletedAt)
      await context.projects.markBroken(transaction, loaded.project, error);
    // What it was made from does not read well. Unless that passes a verification, the next backup is a full one, and
    // retention merges nothing of it.
    const madeFrom = row.parentId ?? row.standsFor;
    if (error.code === 'INTEGRITY_ERROR' && madeFrom !== null)
      await verifyAgain(context, transaction, organizationId, madeFrom);
    await context.platform.outbox.emit(transaction, backupEvent('backup.failed', loaded));
    await context.onEnded(transaction, loaded);
    await context.audit.noteSystem(transaction, organizationId, {
      action: 'backup.failed',
      resource: { type: 'backup', id: backupId },
      details: { projectId: row.projectId, code: error.code },
    });
    return true;
  });
}

/** The same for a cancelled backup. */
export async function cancelBackup(context: BackupsContext, transaction: Transaction, backup: Ended): Promise<boolean> {
  const error = toJobError(new Problem('CANCELLED', 'The backup was cancelled.'));
  const change = { status: 'cancelled' as const, phase: 'Cancelled', error };
  if (!(await endRow(context, transaction, backup, change))) return false;
  const loaded = await loadBackup(context, transaction, backup.organizationId, backup.id);
  if (loaded) await context.onEnded(transaction, loaded);
  return true;
}

/** Refused credentials are reported together with the API call that fixes them. */
function withReconnectCall(error: StoredError, projectId: string): StoredError {
  if (error.code !== 'SOURCE_AUTH_ERROR') return error;
  return { ...error, details: { ...error.details, reconnect: reconnectCall(projectId), projectId } };
}

async function endRow(
  context: BackupsContext,
  transaction: Transaction,
  backup: Ended,
  change: Pick<NewBackup, 'status' | 'error' | 'phase'>,
): Promise<BackupRow | undefined> {
  const { clock, queue } = context.platform;
  const { organizationId, id: backupId } = backup;
  const row = await backupStore.findLocked(transaction, organizationId, backupId);
  if (!row || admissionOf(row) !== admissionOf(backup)) return undefined;
  if (row.status !== 'pending' && row.status !== 'running') return undefined;
  const now = clock.now();
  const ended = await backupStore.update(transaction, organizationId, backupId, {
    ...change,
    waitingFor: null,
    completedAt: now,
    updatedAt: now,
    plan: null,
    envelope: null,
  });
  await rangeStore.clear(transaction, organizationId, backupId);
  await copyStore.failAll(transaction, organizationId, backupId, change.error ?? null);
  const startAfter = later(now, settleMs);
  await queue.enqueue(
    transaction,
    removeObjectsJob,
    { organizationId, backupId },
    { key: `${backupId}/ended`, startAfter },
  );
  return ended;
}
