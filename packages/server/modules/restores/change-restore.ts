import { setTimeout as sleep } from 'node:timers/promises';
import type { Transaction } from '../../platform/database/database.ts';
import { secondMs } from '../../platform/durations.ts';
import { type Caller, callerEmail } from '../../platform/principal.ts';
import { Problem } from '../../platform/problem.ts';
import { backupStore } from '../backups/index.ts';
import { projectStore } from '../projects/index.ts';
import { restoreSubject } from './audit-details.ts';
import type { RestoresContext } from './context.ts';
import { rangeStore } from './ranges/range-store.ts';
import { restoreEvent } from './restore-events.ts';
import { nextEpoch, type RestoreRow, restoreStore } from './restore-store.ts';
import { admitRestores } from './run/admission.ts';
import { cancelledError } from './run/end-restore.ts';
import { irreversibleSoFar } from './run/irreversible.ts';

const waitMs = 20 * secondMs;
const pollMs = 50;

/**
 * Cancels a restore. Its workers send nothing more and wait for requests under way, then its holder ends it. Once the
 * record says cancelled, nothing more is written.
 */
export async function cancelRestore(context: RestoresContext, caller: Caller, restoreId: string): Promise<void> {
  const { database, clock } = context.platform;
  const organizationId = caller.organization.id;
  await database.tenant(organizationId, async (transaction) => {
    const row = await restoreStore.lock(transaction, organizationId, restoreId);
    requireStatus(row, ['pending', 'running'], 'cancelled');
    const now = clock.now();
    const { held, unheard } = await rangeStore.state(transaction, row);
    const isHeld = row.status === 'running' && (held > 0 || (await restoreStore.isAlive(transaction, row)));
    // The former holder saved what it knew about its own writes only.
    const checkpoint = { ...row.checkpoint, isHeard: row.checkpoint.isHeard === true && unheard === 0 };
    const changed = await restoreStore.update(transaction, organizationId, restoreId, {
      updatedAt: row.updatedAt,
      stoppedBy: callerEmail(caller.principal),
      ...(isHeld
        ? { cancelRequestedAt: now }
        : {
            ...cancelledNow,
            ...nextEpoch(row),
            checkpoint,
            irreversibleReasons: irreversibleSoFar(row),
            completedAt: now,
          }),
    });
    if (!isHeld && row.status === 'running') await emitCancelled(context, transaction, changed);
    if (!isHeld) await context.backups.stopSafetyBackup(transaction, changed);
    const resource = { type: 'restore', id: restoreId };
    await context.audit.noteCaller(transaction, caller, {
      action: 'restore.cancelled',
      resource,
      details: restoreSubject(row),
    });
  });
  await untilEnded(context, organizationId, restoreId);
  await admitRestores(context.platform);
}

const cancelledNow = {
  status: 'cancelled' as const,
  cancelRequestedAt: null,
  waitingFor: null,
  error: cancelledError,
};

/** A restore that reported its start also reports its end, when no worker is left to do so. */
async function emitCancelled(context: RestoresContext, transaction: Transaction, row: RestoreRow): Promise<void> {
  const { organizationId, projectId, targetProjectId } = row;
  const organization = await context.organizations.active(transaction, organizationId);
  const project = await projectStore.findKept(transaction, organizationId, projectId);
  const target = await projectStore.findKept(transaction, organizationId, targetProjectId);
  if (row.dryRun || !organization || !project || !target) return;
  const facts = { row, project, target, organization: { id: organization.id, name: organization.name } };
  await context.platform.outbox.emit(transaction, restoreEvent('restore.failed', facts));
}

async function untilEnded({ platform }: RestoresContext, organizationId: string, restoreId: string): Promise<void> {
  for (let waitedMs = 0; waitedMs < waitMs; waitedMs += pollMs) {
    const row = await platform.database.tenant(organizationId, (transaction) =>
      restoreStore.get(transaction, organizationId, restoreId),
    );
    if (row.status !== 'pending' && row.status !== 'running') return;
    await sleep(pollMs);
  }
}

/** Continues from the last checkpoint and tries again what failed. Nothing else is written again. */
export async function resumeRestore(context: RestoresContext, caller: Caller, restoreId: string): Promise<void> {
  const { database, clock } = context.platform;
  const organizationId = caller.organization.id;
  await database.tenant(organizationId, async (transaction) => {
    const row = await restoreStore.lock(transaction, organizationId, restoreId);
    requireStatus(row, ['failed', 'cancelled'], 'resumed');
    if (row.undoneBy !== null)
      throw new Problem('INVALID_STATE', 'This restore is being undone or was undone; start a new one instead.', {
        details: { undoneBy: row.undoneBy },
      });
    await projectStore.hold(transaction, [{ organizationId, projectId: row.targetProjectId }]);
    await projectStore.get(transaction, organizationId, row.targetProjectId);
    await requireSource(transaction, row);
    // The row has the figures of its ranges only as of the holder's last update.
    const ranges = await rangeStore.list(transaction, row);
    const hasFailures =
      (row.errorCount > 0 || ranges.some(({ written }) => written.failed > 0)) && row.journalPages > 0;
    await rangeStore.forgetFailures(transaction, row);
    await restoreStore.update(transaction, organizationId, restoreId, {
      checkpoint: { ...row.checkpoint, ...(hasFailures ? { retryBefore: row.journalPages } : {}) },
      status: 'pending',
      phase: 'Initializing',
      admittedAt: null,
      completedAt: null,
      cancelRequestedAt: null,
      stoppedBy: null,
      error: null,
      errorCount: 0,
      errorSample: [],
      ...(row.ownWritten ? { ownWritten: { ...row.ownWritten, failed: 0, errorSample: [] } } : {}),
      failures: 0,
      updatedAt: clock.now(),
    });
    const resource = { type: 'restore', id: restoreId };
    await context.audit.noteCaller(transaction, caller, {
      action: 'restore.resumed',
      resource,
      details: restoreSubject(row),
    });
  });
  await admitRestores(context.platform);
}

/** An undo reads only what was saved before the restore that it takes back. */
async function requireSource(transaction: Transaction, row: RestoreRow): Promise<void> {
  const { organizationId, undoOf } = row;
  const undone = undoOf === null ? undefined : await restoreStore.get(transaction, organizationId, undoOf);
  const later = row.dryRun ? null : (undone?.undoneBy ?? null);
  if (later !== null && later !== row.id)
    throw new Problem('INVALID_STATE', 'Another undo of the same restore has begun since.', {
      details: { undoneBy: later },
    });
  // Only the journal knows what failed. Without it a resume would leave that out and call the restore completed.
  if (row.journalPages > 0 && row.journalEnvelope === null)
    throw new Problem(
      'INVALID_STATE',
      'The journal of this restore is gone, so it is not known what is left to do: start a new one instead.',
    );
  const backupId = undone ? undone.safetyBackupId : row.backupId;
  if (backupId !== null) await backupStore.hold(transaction, organizationId, [backupId]);
  const { safetyBackupId } = row;
  // A new safety backup would hold what this restore has already written.
  if (safetyBackupId !== null && !(await backupStore.find(transaction, organizationId, safetyBackupId)))
    throw new Problem(
      'INVALID_STATE',
      `What this restore overwrote was saved in ${safetyBackupId}, which was deleted: start a new one instead.`,
      { details: { safetyBackupId } },
    );
}

export function requireStatus(row: RestoreRow, allowed: readonly RestoreRow['status'][], verb: string): void {
  if (allowed.includes(row.status)) return;
  throw new Problem('INVALID_STATE', `A restore that is ${row.status} cannot be ${verb}.`, {
    details: { status: row.status },
  });
}
