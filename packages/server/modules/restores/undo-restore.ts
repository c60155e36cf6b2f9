import type { Transaction } from '../../platform/database/database.ts';
import { findEarlierResult } from '../../platform/earlier-result.ts';
import { type Caller, callerEmail } from '../../platform/principal.ts';
import { Problem } from '../../platform/problem.ts';
import { backupStore } from '../backups/index.ts';
import { projectStore } from '../projects/index.ts';
import { restoreSubject } from './audit-details.ts';
import { requireStatus } from './change-restore.ts';
import type { RestoresContext } from './context.ts';
import { journalGone } from './journal/restore-journal.ts';
import { type RestoreRow, restoreStore } from './restore-store.ts';
import { admitRestores } from './run/admission.ts';
import { overwrites } from './run/safety-backup.ts';

/** Starts the undo of a restore: another restore that takes it back, document by document, from its journal. */
export async function undoRestore(
  context: RestoresContext,
  caller: Caller,
  restoreId: string,
  { force, dryRun }: { force: boolean; dryRun: boolean },
): Promise<RestoreRow> {
  const { database, clock, ids } = context.platform;
  const organizationId = caller.organization.id;
  const made = await findEarlierResult(context.platform, caller, 'rst', restoreStore.find);
  if (made) return made;
  const row = await database.tenant(organizationId, async (transaction) => {
    const undone = await restoreStore.lock(transaction, organizationId, restoreId);
    requireUndoable(undone);
    await requireSaved(transaction, undone);
    const former = undone.undoneBy && (await restoreStore.find(transaction, organizationId, undone.undoneBy));
    if (former && !dryRun) requireAnother(former, force);
    const now = clock.now();
    const inserted = await restoreStore.insert(transaction, {
      id: ids.next('rst', caller.origin.newId),
      organizationId,
      backupId: undone.safetyBackupId ?? undone.backupId,
      projectId: undone.targetProjectId,
      targetProjectId: undone.targetProjectId,
      status: 'pending',
      phase: 'Initializing',
      mergeMode: 'overwrite',
      dryRun,
      undoOf: undone.id,
      startedBy: callerEmail(caller.principal),
      force,
      scope: undone.scope,
      includeAuthUsers: false,
      includeSubcollections: undone.includeSubcollections,
      safetyBackup: true,
      rewriteReferences: false,
      deleteExtra: false,
      checkpoint: { stage: 'puts' },
      createdAt: now,
      updatedAt: now,
    });
    // From here on the safety backup cannot be deleted, and the target cannot be disconnected; before, they could.
    await backupStore.hold(transaction, organizationId, [undone.safetyBackupId ?? []].flat());
    await projectStore.get(transaction, organizationId, undone.targetProjectId);
    if (!dryRun)
      await restoreStore.update(transaction, organizationId, undone.id, { undoneBy: inserted.id, updatedAt: now });
    await context.audit.noteCaller(transaction, caller, {
      action: 'restore.created',
      resource: { type: 'restore', id: inserted.id },
      details: { ...restoreSubject(inserted), force, dryRun },
    });
    return inserted;
  });
  await admitRestores(context.platform);
  return row;
}

function requireUndoable(row: RestoreRow): void {
  requireStatus(row, ['completed', 'failed', 'cancelled'], 'undone');
  if (row.dryRun) throw new Problem('INVALID_STATE', 'A dry run wrote nothing, so there is nothing to undo.');
  if (row.journalPages > 0 && !row.journalEnvelope) throw journalGone();
  if (!row.safetyBackup && overwrites(row) && row.undoOf === null)
    throw new Problem('INVALID_STATE', 'What this restore overwrote was not saved, because it was asked not to.');
}

/** Throws without the safety backup: the undo could only fail, and would keep others from starting. */
async function requireSaved(transaction: Transaction, { organizationId, safetyBackupId }: RestoreRow): Promise<void> {
  if (safetyBackupId === null) return;
  const saved = await backupStore.find(transaction, organizationId, safetyBackupId);
  if (saved?.status === 'completed') return;
  const why = saved
    ? 'It wrote nothing, because what it would have overwritten was not saved: there is nothing to undo.'
    : `What this restore overwrote was saved in ${safetyBackupId}, which was deleted.`;
  throw new Problem('INVALID_STATE', why, { details: { safetyBackupId } });
}

/** Throws unless the first undo left something that this one, with force, will take back. */
function requireAnother(former: RestoreRow, force: boolean): void {
  const isBrokenOff = former.status === 'failed' || former.status === 'cancelled';
  const hasLeft = isBrokenOff || (former.status === 'completed' && former.conflicts > 0);
  if (hasLeft && force && (!former.force || former.undoneBy !== null)) return;
  throw new Problem('INVALID_STATE', `This restore has an undo already.${adviceFor(former, isBrokenOff)}`, {
    details: { undoneBy: former.id },
  });
}

/** What to do instead. An undo that was itself undone cannot be resumed. */
function adviceFor({ id, undoneBy }: RestoreRow, isBrokenOff: boolean): string {
  if (isBrokenOff) return undoneBy === null ? ` Resume ${id}.` : ' That one was taken back: undo this one with force.';
  return undoneBy === null ? '' : ` That one was taken back by ${undoneBy}: undo that.`;
}
