import { EngineError } from '@holdfast/engine';
import type { Transaction } from '../../../platform/database/database.ts';
import { Problem } from '../../../platform/problem.ts';
import { systemActor } from '../../audit/index.ts';
import { type StoredError, toJobError } from '../../job-error.ts';
import { reconnectCall } from '../../projects/index.ts';
import { tellBackup } from '../backup-events.ts';
import type { NewBackup } from '../backup-store.ts';
import { backupStore, rangeStore } from '../backup-store.ts';
import type { BackupsContext } from '../context.ts';
import { removeObjectsJob } from '../jobs.ts';
import { loadBackup } from '../load-backup.ts';

/** Long enough for the workers of a backup that was ended to notice and stop writing. */
const settleMs = 4000;

/** Ends a backup without a result; whatever was written is removed. Does nothing when it has ended already. */
export async function failBackup(
  context: BackupsContext,
  organizationId: string,
  backupId: string,
  cause: unknown,
): Promise<boolean> {
  const error = explain(cause, backupId);
  return context.platform.database.tenant(organizationId, async (transaction) => {
    const row = await endRow(context, transaction, organizationId, backupId, { status: 'failed', error });
    if (!row) return false;
    const loaded = await loadBackup(context, transaction, organizationId, backupId);
    if (!loaded) return true;
    const told = {
      ...error,
      details: {
        ...error.details,
        ...(error.code === 'SOURCE_AUTH_ERROR'
          ? { reconnect: reconnectCall(loaded.project.id), projectId: loaded.project.id }
          : {}),
      },
    };
    await backupStore.update(transaction, organizationId, backupId, { error: told });
    if (error.code === 'SOURCE_AUTH_ERROR' && !loaded.project.deletedAt)
      await context.projects.markBroken(transaction, loaded.project, told);
    const facts = { ...loaded, row: { ...loaded.row, error: told } };
    await tellBackup(context.platform.outbox, transaction, 'backup.failed', facts);
    await context.onEnded(transaction, facts);
    await note(context, transaction, organizationId, backupId, 'backup.failed', { code: error.code });
    return true;
  });
}

/** The same for one that somebody called off. */
export async function cancelBackup(
  context: BackupsContext,
  transaction: Transaction,
  organizationId: string,
  backupId: string,
): Promise<boolean> {
  const error = toJobError(new Problem('CANCELLED', 'The backup was cancelled.'));
  if (!(await endRow(context, transaction, organizationId, backupId, { status: 'cancelled', error }))) return false;
  const loaded = await loadBackup(context, transaction, organizationId, backupId);
  if (loaded) await context.onEnded(transaction, loaded);
  return true;
}

async function endRow(
  context: BackupsContext,
  transaction: Transaction,
  organizationId: string,
  backupId: string,
  change: Pick<NewBackup, 'status' | 'error'>,
) {
  const { clock, queue } = context.platform;
  const row = await backupStore.find(transaction, organizationId, backupId);
  if (!row) return undefined;
  const locked = await backupStore.lock(transaction, organizationId, backupId);
  if (locked.status !== 'pending' && locked.status !== 'running') return undefined;
  const now = clock.now();
  const ended = await backupStore.update(transaction, organizationId, backupId, {
    ...change,
    completedAt: now,
    updatedAt: now,
    plan: null,
    envelope: null,
    phase: change.status === 'cancelled' ? 'Cancelled' : 'Failed',
  });
  await rangeStore.clear(transaction, organizationId, backupId);
  await queue.enqueue(
    transaction,
    removeObjectsJob,
    { organizationId, backupId },
    { key: backupId, startAfter: new Date(now.getTime() + settleMs) },
  );
  return ended;
}

/** A broken project is told with the call that mends it. */
function explain(cause: unknown, backupId: string): StoredError {
  return toJobError(cause, { backupId });
}

/** Whether the same work may succeed when another worker, or a later moment, tries it. */
export function mayPass(error: unknown): boolean {
  if (error instanceof EngineError) return error.retryable;
  return !(error instanceof Problem);
}

async function note(
  context: BackupsContext,
  transaction: Transaction,
  organizationId: string,
  backupId: string,
  action: string,
  details: Record<string, unknown>,
): Promise<void> {
  await context.audit.write(transaction, {
    organizationId,
    action,
    actor: systemActor,
    resource: { type: 'backup', id: backupId },
    origin: null,
    details,
  });
}
