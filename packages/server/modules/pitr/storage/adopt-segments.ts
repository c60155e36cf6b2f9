import { type BlobStore, type LogGap, type LogSegment, logSegmentsPrefix } from '@holdfast/engine';
import type { Transaction } from '../../../platform/database/database.ts';
import type { PitrContext } from '../context.ts';
import { readerOf } from '../log-access.ts';
import { type LogRow, pitrStore } from '../pitr-store.ts';
import { type CapturedSegment, fills, segmentStore } from '../segment-store.ts';
import { consecutiveSegments } from './consecutive-segments.ts';

/**
 * Adds captured segments of a known log that the catalogue does not know, because the database was restored from an
 * older copy or another server went on capturing. If capture is off, they continue the log. If capture went on by
 * itself, they fill the beginning of the gap that it reported. Returns how many segments were added.
 */
export async function adoptSegments(
  context: PitrContext,
  row: LogRow,
  store: BlobStore,
  signal: AbortSignal,
): Promise<number> {
  const { database } = context.backups.platform;
  const { organizationId, projectId, logId } = row;
  const known = await database.tenant(organizationId, (transaction) => segmentStore.keys(transaction, logId));
  const keys: string[] = [];
  for await (const { key } of store.list(logSegmentsPrefix(logId), { signal })) if (!known.has(key)) keys.push(key);
  if (keys.length === 0) return 0;
  const unknown: LogSegment[] = [];
  for await (const segment of (await readerOf(context, row, store)).describe({ keys, signal })) unknown.push(segment);
  return database.tenant(organizationId, async (transaction) => {
    const current = await pitrStore.lock(transaction, organizationId, projectId);
    if (current?.logId !== logId) return 0;
    // Capture may have recorded some of them meanwhile.
    const catalogued = await segmentStore.keys(transaction, logId);
    const found = unknown.filter(
      ({ key, coveredThrough }) => !catalogued.has(key) && coveredThrough > current.startedFrom,
    );
    const captured = await segmentStore.captured(transaction, logId);
    const filling = await fillGaps(transaction, current, captured, found);
    const others = found.filter((segment) => !filling.includes(segment));
    const taken = [...filling, ...(current.enabled ? [] : await continueLog(transaction, current, captured, others))];
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
    await segmentStore.insert(transaction, { ...row, nextSequence: nextSequence + index }, segment, now);
  await pitrStore.update(transaction, organizationId, projectId, { nextSequence: nextSequence + taken.length });
  await audit.noteSystem(transaction, organizationId, {
    action: 'pitr.segments_taken_up',
    resource: { type: 'project', id: projectId },
    details: { logId, segments: taken.length },
  });
}

/** Segments that follow the end of a log that is switched off. Capture starts after them, once it is switched on. */
async function continueLog(
  transaction: Transaction,
  { organizationId, projectId, coveredThrough: end }: LogRow,
  captured: readonly CapturedSegment[],
  found: readonly LogSegment[],
): Promise<readonly LogSegment[]> {
  const behind = found.filter(({ coveredThrough }) => coveredThrough > end);
  // Time without changes is written with the next change, so the next segment may begin before the end of the covered
  // time.
  const lastEnd = captured.at(-1)?.coveredThrough ?? end;
  const isJoined = behind.some(({ coveredFrom }) => coveredFrom === lastEnd);
  const { segments, coveredThrough } = consecutiveSegments(behind, isJoined ? lastEnd : end);
  if (segments.length > 0)
    await pitrStore.update(transaction, organizationId, projectId, { coveredThrough, position: null });
  return segments;
}

/** Gaps refer to the segments that fill them by sequence, so these are inserted first. */
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
 * Whether capture was interrupted during the gap. When a collection was found late, the segments of that time miss it
 * as well and are no help.
 */
function isInterruption({ sequence, gap }: CapturedSegment, captured: readonly CapturedSegment[]): boolean {
  if (gap === null || gap.isBrief || gap.lost !== undefined || gap.reason.includes('found late')) return false;
  const began = gap.filledFrom ?? gap.from;
  return captured.find((one) => one.coveredThrough > began && !fills(gap, one.sequence))?.sequence === sequence;
}

/** Consecutive segments from the beginning of the gap, in order of time, and the repairs within them. */
function fillingOf({ from, through }: LogGap, found: readonly LogSegment[]): LogSegment[] {
  // After unknown deletions nothing is known, and that would also hold for the time after the gap.
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
