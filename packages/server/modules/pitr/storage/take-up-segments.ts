import { type BlobStore, type LogGap, type LogSegment, logSegmentsPrefix } from '@holdfast/engine';
import type { Transaction } from '../../../platform/database/database.ts';
import type { PitrContext } from '../context.ts';
import { readerOf } from '../log-access.ts';
import { fills, type LogRow, pitrStore } from '../pitr-store.ts';
import { joinedSegments } from './joined-segments.ts';
import { type CapturedSegment, segmentStore } from './segment-store.ts';

/**
 * Takes up captured time of a known log that its catalogue does not know, because the catalogue came back from an older day or because
 * another server went on. Where nobody captures, the log goes on with it; where capture went on by itself, it fills the beginning of
 * the gap that was told then. How many segments were taken up.
 */
export async function takeUpSegments(
  context: PitrContext,
  row: LogRow,
  store: BlobStore,
  signal: AbortSignal,
): Promise<number> {
  const { database } = context.backups.platform;
  const { organizationId, projectId, logId } = row;
  const known = await database.tenant(organizationId, (transaction) => pitrStore.segmentKeys(transaction, logId));
  const keys: string[] = [];
  for await (const { key } of store.list(logSegmentsPrefix(logId), { signal })) if (!known.has(key)) keys.push(key);
  if (keys.length === 0) return 0;
  const unknown: LogSegment[] = [];
  for await (const segment of (await readerOf(context, row, store)).describe({ keys, signal })) unknown.push(segment);
  return database.tenant(organizationId, async (transaction) => {
    const current = await pitrStore.lock(transaction, organizationId, projectId);
    if (current?.logId !== logId) return 0;
    // Capture may have told of some of them meanwhile.
    const told = await pitrStore.segmentKeys(transaction, logId);
    const found = unknown.filter(({ key, coveredThrough }) => !told.has(key) && coveredThrough > current.startedFrom);
    const captured = await segmentStore.capturedSegments(transaction, logId);
    const filling = await fillGaps(transaction, current, captured, found);
    const others = found.filter((segment) => !filling.includes(segment));
    const taken = [...filling, ...(current.enabled ? [] : await goOn(transaction, current, captured, others))];
    if (taken.length > 0) await insert(context, transaction, current, taken);
    return taken.length;
  });
}

async function insert(
  { backups: { platform, audit } }: PitrContext,
  transaction: Transaction,
  row: LogRow,
  taken: readonly LogSegment[],
): Promise<void> {
  const { organizationId, projectId, logId, nextSequence } = row;
  const now = platform.clock.now();
  for (const [index, segment] of taken.entries())
    await pitrStore.insertSegment(transaction, { ...row, nextSequence: nextSequence + index }, segment, now);
  await pitrStore.update(transaction, organizationId, projectId, { nextSequence: nextSequence + taken.length });
  await audit.noteSystem(transaction, organizationId, {
    action: 'pitr.segments_taken_up',
    resource: { type: 'project', id: projectId },
    details: { logId, segments: taken.length },
  });
}

/** What follows the end of a log that nobody captures. Capture begins anew behind it, once it is switched on. */
async function goOn(
  transaction: Transaction,
  { organizationId, projectId, coveredThrough: end }: LogRow,
  captured: readonly CapturedSegment[],
  found: readonly LogSegment[],
): Promise<readonly LogSegment[]> {
  const behind = found.filter(({ coveredThrough }) => coveredThrough > end);
  // Quiet time is written down with the change that ends it: then the next segment begins before the end of what is covered.
  const lastEnd = captured.at(-1)?.coveredThrough ?? end;
  const isJoined = behind.some(({ coveredFrom }) => coveredFrom === lastEnd);
  const { segments, coveredThrough } = joinedSegments(behind, isJoined ? lastEnd : end);
  if (segments.length > 0)
    await pitrStore.update(transaction, organizationId, projectId, { coveredThrough, position: null });
  return segments;
}

/** The gaps know by their sequences what fills them, which comes first among all that is taken up. */
async function fillGaps(
  transaction: Transaction,
  { logId, nextSequence }: LogRow,
  captured: readonly CapturedSegment[],
  found: readonly LogSegment[],
): Promise<LogSegment[]> {
  const taken: LogSegment[] = [];
  for (const { sequence, gap } of captured.filter((segment) => isInterruption(segment, captured))) {
    const filling = fillingOf(gap!, found);
    const from = filling.at(-1)?.coveredThrough;
    if (from === undefined) continue;
    const first = nextSequence + taken.length;
    taken.push(...filling);
    const filledBy = [...(gap!.filledBy ?? []), [first, first + filling.length - 1] as const];
    const filledFrom = gap!.filledFrom ?? gap!.from;
    await segmentStore.setGap(transaction, logId, sequence, { ...gap!, from, filledFrom, filledBy });
  }
  return taken;
}

/**
 * Whether nothing was heard in the time of a gap, as far as this catalogue knows. A collection that was found late was missed by what
 * was captured as well, so segments of that time are no help.
 */
function isInterruption({ sequence, gap }: CapturedSegment, captured: readonly CapturedSegment[]): boolean {
  if (gap === null || gap.isBrief || gap.lost !== undefined || gap.reason.includes('found late')) return false;
  const began = gap.filledFrom ?? gap.from;
  return captured.find((one) => one.coveredThrough > began && !fills(gap, one.sequence))?.sequence === sequence;
}

/** A run without a hole from the beginning of the gap, in the order of time, and what was repaired within it. */
function fillingOf({ from, through }: LogGap, found: readonly LogSegment[]): LogSegment[] {
  // Behind deletions that nobody saw nothing is known, and that would be said of the time behind the gap too.
  const blind = found.filter(({ gap }) => gap?.deletionsUnknown).map(({ coveredFrom }) => coveredFrom);
  const limit = [through, ...blind.filter((start) => start >= from)].sort()[0]!;
  const within = found.filter(
    ({ coveredThrough, gap }) => coveredThrough > from && coveredThrough <= limit && !gap?.deletionsUnknown,
  );
  const run: LogSegment[] = [];
  let end = from;
  for (;;) {
    const next = within
      .filter(({ coveredFrom, coveredThrough }) => coveredFrom <= end && end < coveredThrough)
      .toSorted((left, right) => (left.coveredThrough < right.coveredThrough ? 1 : -1))[0];
    if (!next) break;
    run.push(next);
    end = next.coveredThrough;
  }
  const repairs = within.filter((one) => one.coveredFrom === one.coveredThrough && one.coveredThrough <= end);
  return [...run, ...repairs].sort((left, right) => (left.coveredThrough < right.coveredThrough ? -1 : 1));
}
