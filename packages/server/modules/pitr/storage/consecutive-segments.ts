import type { LogGap, LogSegment } from '@holdfast/engine';

interface Joined {
  readonly segments: readonly LogSegment[];
  readonly coveredThrough: string;
}

/**
 * The consecutive segments among all that are in a bucket: each begins where another one ends. Segments that a worker
 * wrote after it had lost its lease overlap and are left out. When a segment is missing, the next one gets a gap.
 */
export function consecutiveSegments(all: readonly LogSegment[], from: string): Joined {
  const captured = all.filter(({ coveredFrom, coveredThrough }) => coveredFrom < coveredThrough);
  const repairs = all.filter(({ coveredFrom, coveredThrough }) => coveredFrom === coveredThrough);
  const byStart = Map.groupBy(captured, ({ coveredFrom }) => coveredFrom);
  const starts = [...byStart.keys()].sort();
  const kept: LogSegment[] = [];
  let end = from;
  for (;;) {
    const start = starts.find((one) => one >= end);
    if (start === undefined) break;
    const segment = bestOf(byStart.get(start)!, byStart);
    kept.push(start > end ? { ...segment, gap: gapBefore(segment, end) } : segment);
    end = segment.coveredThrough;
  }
  const within = repairs.filter(({ coveredThrough }) => coveredThrough <= end);
  const segments = [...kept, ...within].sort((left, right) => (left.coveredThrough < right.coveredThrough ? -1 : 1));
  return { segments, coveredThrough: end };
}

/** The one that is continued by another segment; otherwise the longest. */
function bestOf(candidates: readonly LogSegment[], byStart: ReadonlyMap<string, unknown>): LogSegment {
  const longest = candidates.toSorted((left, right) => (left.coveredThrough < right.coveredThrough ? 1 : -1));
  return longest.find(({ coveredThrough }) => byStart.has(coveredThrough)) ?? longest[0]!;
}

function gapBefore({ coveredFrom, gap }: LogSegment, end: string): LogGap {
  const through = gap !== null && gap.through > coveredFrom ? gap.through : coveredFrom;
  const reason = 'A part of the log is missing.';
  return { from: end, through, reason: gap === null ? reason : `${reason} ${gap.reason}`, deletionsUnknown: true };
}
