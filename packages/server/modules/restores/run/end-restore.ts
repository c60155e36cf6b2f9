import type { StoredError } from '../../job-error.ts';
import { restoreSubject } from '../audit-details.ts';
import type { RestoresContext } from '../context.ts';
import { rangeStore } from '../ranges/range-store.ts';
import { progressEvents, restoreEvent } from '../restore-events.ts';
import { type NewRestore, type RestoreRow, restoreStore } from '../restore-store.ts';
import type { DocumentFailure, Irreversible, StoredPreview } from '../tables.ts';
import { irreversibleSoFar } from './irreversible.ts';
import { partialFailure } from './partial-failure.ts';
import type { RestoreWork } from './restore-tracker.ts';

export interface CancelledRestore {
  cancelled: true;
  /** Requests under way were waited for, and no earlier run can have left writes outside the journal. */
  isHeard?: boolean;
}

export type Ending =
  | { users: { failed: number; errors: DocumentFailure[] } }
  | { preview: StoredPreview; reasons?: Irreversible[]; conflicts?: Pick<RestoreRow, 'conflicts' | 'conflictSample'> }
  | { error: StoredError; isHeard?: boolean }
  | CancelledRestore;

export const cancelledError: StoredError = {
  code: 'CANCELLED',
  message: 'The restore was cancelled.',
  retryable: false,
  advice: 'Resume it to go on from where it stopped, or undo it.',
};

/** The only transaction that ends a restore. A restore with failed documents is failed, never completed. */
export async function endRestore(context: RestoresContext, work: RestoreWork, ending: Ending): Promise<void> {
  const { database, clock, outbox } = context.platform;
  const { organizationId, id } = work.row;
  await database.tenant(organizationId, async (transaction) => {
    const row = await restoreStore.lockHeld(transaction, work.row);
    if (!row) return;
    const users = 'users' in ending ? ending.users : { failed: 0, errors: [] };
    const errorCount = row.errorCount + users.failed;
    const errorSample = [...row.errorSample, ...users.errors].slice(0, 100);
    const error = errorOf(ending, errorCount, errorSample);
    const now = clock.now();
    const change: Partial<NewRestore> = error
      ? {
          error,
          status: error.code === 'CANCELLED' ? 'cancelled' : 'failed',
          checkpoint: { ...row.checkpoint, ...('isHeard' in ending ? { isHeard: ending.isHeard === true } : {}) },
        }
      : {
          status: 'completed',
          phase: 'Completed',
          percent: 100,
          percentTold: 100,
          checkpoint: { stage: 'done' },
          ...('preview' in ending ? { preview: ending.preview, ...ending.conflicts } : {}),
        };
    // All ten progress events are emitted, however quick the restore was.
    const progress = error ? [] : progressEvents({ ...work, row }, row.percentTold, 100);
    const ended = await restoreStore.update(transaction, organizationId, id, {
      ...change,
      irreversibleReasons: 'reasons' in ending ? ending.reasons : irreversibleSoFar(row),
      errorCount,
      errorSample,
      cancelRequestedAt: null,
      waitingFor: null,
      completedAt: now,
      updatedAt: now,
    });
    if (!error) await rangeStore.clear(transaction, row);
    if ('cancelled' in ending) await context.backups.stopSafetyBackup(transaction, ended);
    const event = error ? 'restore.failed' : 'restore.completed';
    if (!row.dryRun) await outbox.emitAll(transaction, [...progress, restoreEvent(event, { ...work, row: ended })]);
    await context.audit.noteSystem(transaction, organizationId, {
      action: ended.status === 'cancelled' ? 'restore.stopped' : event,
      resource: { type: 'restore', id },
      details: {
        ...restoreSubject(ended),
        ...(ended.status === 'cancelled' && ended.stoppedBy ? { askedBy: ended.stoppedBy } : {}),
        documentsRestored: ended.documentsRestored,
        documentsDeleted: ended.documentsDeleted,
        conflicts: ended.conflicts,
        errors: errorCount,
        ...(error ? { code: error.code } : {}),
      },
    });
  });
}

function errorOf(ending: Ending, errorCount: number, errorSample: readonly DocumentFailure[]): StoredError | null {
  if ('cancelled' in ending) return cancelledError;
  if ('error' in ending) return ending.error;
  return errorCount > 0 ? partialFailure(errorCount, errorSample) : null;
}
