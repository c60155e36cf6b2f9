/** Reads all names at one instant, yields the differences, and reports the time in between as a gap. */

import { type CaptureGap, type ChangeBatch, isEngineError } from '../../../ports/index.ts';
import type { CaptureParts } from './capture-parts.ts';
import { catchUp } from './catch-up.ts';
import { type NameAndTime, namesOf } from './group-scan.ts';

export async function* scanEverything(
  { source, options, groups, covered, budget }: CaptureParts,
  reason: string,
): AsyncGenerator<ChangeBatch, void> {
  const { scope, signal, knownNames } = options;
  await budget.wait(signal);
  const readsBefore = source.usage.documentsRead;
  const at = await source.snapshotTime(signal === undefined ? {} : { signal });
  const onPath = (path: string): void => groups.note(path);
  let isKnown = true;
  const known = async function* (): AsyncGenerator<NameAndTime, void> {
    try {
      for await (const batch of knownNames?.(covered.through) ?? []) yield* namesOf(batch);
    } catch (error) {
      // The former state cannot be known any more, so deletions since then cannot be reported, and the gap says so.
      if (!isEngineError(error, 'SNAPSHOT_TOO_OLD')) throw error;
      isKnown = false;
    }
  };
  // The first piece reports the whole gap, so that none of it is trusted if the catch-up dies.
  let gap: CaptureGap | undefined = covered.gap(covered.through, at, reason);
  covered.forgetLateGroups();
  try {
    const knowsAll = (): boolean => knownNames !== undefined && isKnown;
    for await (const piece of catchUp(source, { scope, since: covered.through, at, known, knowsAll, onPath, signal })) {
      const isUnknown = piece.deletionsLost || (gap !== undefined && !isKnown);
      // Missed documents were missing since the last proof.
      const from = gap !== undefined && piece.hadMissed ? covered.provedThrough : covered.through;
      if (isUnknown || (gap !== undefined && piece.hadMissed)) gap = covered.gap(from, at, reason);
      if (isUnknown) gap = { ...gap!, deletionsUnknown: true };
      const marks = piece.through === at ? [at] : [];
      yield { ...covered.stretch(piece.changes, piece.through, marks, { gap }), isScanned: true };
      gap = undefined;
    }
  } finally {
    budget.note(source.usage.documentsRead - readsBefore);
  }
  covered.proved(at);
}
