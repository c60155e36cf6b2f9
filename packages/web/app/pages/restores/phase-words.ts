import type { Restore, RestorePhase } from '@holdfast/contract';
import { t } from '../../texts/index.ts';

const words = t.restore.phaseDone;

/** The result of a finished phase; undefined if there is nothing to tell. */
export function shownBy(phase: RestorePhase, restore: Restore): string | undefined {
  const isUndo = restore.undoOf !== null;
  const isWritten = restore.documentsRestored + restore.documentsDeleted > 0;
  if (phase === 'Initializing') return isWritten ? words.takesWrites : words.answers;
  if (phase === 'Downloading') return isUndo ? words.journalFound : words.found;
  if (phase === 'Decrypting') return words.opened;
  if (phase === 'Decompressing') return words.counted;
  if (phase === 'Validating') {
    if (isUndo) return words.known;
    const isPart = restore.documentIds !== null || restore.items !== null || restore.pointInTime !== null;
    return isPart ? words.partWhole : words.allWhole;
  }
  if (phase === 'Finalizing') return restore.includeAuthUsers && !restore.dryRun ? words.accounts : words.settled;
  if (restore.dryRun) return words.dry;
  return restore.safetyBackupId === null ? words.told : words.toldAndReady;
}

/** A finished restore that certainly wrote nothing: it did not get so far, or the target refused. */
export function wroteNothing(restore: Restore): boolean {
  if (restore.documentsRestored + restore.documentsDeleted + restore.irreversibleReasons.length > 0) return false;
  return (
    restore.status === 'completed' ||
    (restore.status === 'failed' &&
      (restore.error?.code === 'RESTORE_PERMISSION_DENIED' || restore.phase !== 'Restoring'))
  );
}
