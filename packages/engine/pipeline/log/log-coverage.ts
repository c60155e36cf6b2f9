import { type ManifestBody, readThrough } from '../../format/manifest-body.ts';
import type { CaptureGap } from '../../ports/change-capture.ts';
import { EngineError } from '../../ports/errors.ts';
import type { Instant } from '../../ports/instant.ts';

/** A gap as capture reported it. */
export interface LogGap extends CaptureGap {
  /**
   * Where the gap began before captured segments were found that fill its beginning. The changes after the gap are
   * still relative to the state at that instant, so a base that was read later than this must treat the gap as
   * beginning here.
   */
  readonly filledFrom?: Instant;
}

/** What one log segment covers: everything that changed after `coveredFrom` up to and including `coveredThrough`. */
export interface LogStretch {
  readonly coveredFrom: Instant;
  readonly coveredThrough: Instant;
  /** Ascending instants in the stretch at which base and log together are exactly the database. */
  readonly marks: readonly Instant[];
  readonly gap: LogGap | null;
}

/** The nearest exact instants around an instant. Between them, quick successive versions may be missing. */
export function marksAround(
  instant: Instant,
  { stretches }: LogCoverage,
): { before: Instant | null; after: Instant | null } {
  let before: Instant | null = null;
  for (const { marks } of stretches) {
    for (const mark of marks) {
      if (mark > instant) return { before, after: mark };
      before = mark;
      if (mark === instant) return { before, after: mark };
    }
  }
  return { before, after: null };
}

/** A stretch of instants that can be recovered, both ends included. */
export interface ReachableStretch {
  readonly from: Instant;
  readonly through: Instant;
}

/** Where a log covers time and where it does not. Holes between stretches are gaps too. */
export interface LogCoverage {
  readonly stretches: readonly LogStretch[];
  readonly gaps: readonly LogGap[];
}

export function coverageOf(stretches: readonly LogStretch[]): LogCoverage {
  const sorted = stretches.toSorted((left, right) => (left.coveredFrom < right.coveredFrom ? -1 : 1));
  const gaps: LogGap[] = sorted.flatMap(({ gap }) => (gap === null ? [] : [gap]));
  let through = sorted[0]?.coveredFrom;
  for (const { coveredFrom, coveredThrough } of sorted) {
    if (through !== undefined && coveredFrom > through) {
      gaps.push({
        from: through,
        through: coveredFrom,
        reason: 'A part of the log is missing.',
        deletionsUnknown: true,
      });
    }
    if (through === undefined || coveredThrough > through) through = coveredThrough;
  }
  return { stretches: sorted, gaps: gaps.sort((left, right) => (left.from < right.from ? -1 : 1)) };
}

/**
 * Whether the log can be applied to a base that was read between these two instants. Changes after a gap are relative
 * to the state before the gap. For a base that was read inside a gap nobody knows what was deleted until the gap's end.
 */
export function logContinuesFrom(
  snapshotTime: Instant,
  { gaps }: LogCoverage,
  lastReadTime: Instant = snapshotTime,
): boolean {
  return gaps.every((gap) => gap.through <= snapshotTime || (gap.filledFrom ?? gap.from) >= lastReadTime);
}

/** The instants that a base with this snapshot time and this log can be taken to. */
export function reachableFrom(
  snapshotTime: Instant,
  { stretches, gaps }: LogCoverage,
  lastReadTime: Instant = snapshotTime,
): ReachableStretch[] {
  const reachable: ReachableStretch[] = [];
  const first = stretches[0]?.coveredFrom;
  const last = stretches.reduce((latest, { coveredThrough }) => later(coveredThrough, latest), snapshotTime);
  if (first === undefined || first > snapshotTime || !logContinuesFrom(snapshotTime, { stretches, gaps }, lastReadTime))
    return [{ from: snapshotTime, through: snapshotTime }];
  let from = snapshotTime;
  for (const gap of gaps) {
    if (gap.isBrief || gap.through <= snapshotTime || gap.from >= last) continue;
    if (gap.from >= from) reachable.push({ from, through: gap.from });
    // After a gap with unknown deletions, the state is unknown until the next backup.
    if (gap.deletionsUnknown) return reachable;
    from = later(gap.through, from);
  }
  reachable.push({ from, through: last });
  return reachable;
}

function later(left: Instant, right: Instant): Instant {
  return [left, right].sort()[1]!;
}

/** Throws when an instant cannot be reached, and names the nearest instants that can. */
export function assertReachable(
  instant: Instant,
  base: Pick<ManifestBody, 'snapshotTime' | 'ranges'>,
  coverage: LogCoverage,
): void {
  const stretches = reachableFrom(base.snapshotTime, coverage, readThrough(base));
  if (stretches.some(({ from, through }) => from <= instant && instant <= through)) return;
  const before = stretches.findLast(({ through }) => through < instant)?.through ?? null;
  const after = stretches.find(({ from }) => from > instant)?.from ?? null;
  const near = [before, after].filter((bound) => bound !== null).join(' and ');
  throw new EngineError(
    'POINT_IN_TIME_UNAVAILABLE',
    `${instant} was not captured. The nearest instants are ${near || 'unknown'}.`,
    {
      details: { before, after },
    },
  );
}
