import type { DataOf, Operations } from '@holdfast/contract';
import { instantFromDate, type LogGap, type ReachableStretch } from '@holdfast/engine';
import { type Coverage, isReachable, laterOf, stretchesFrom } from './coverage.ts';
import { minutesAround } from './past/source-minutes.ts';
import { toExact, toMilliseconds, toMillisecondsUp } from './pitr-events.ts';
import type { LogRow } from './pitr-store.ts';
import type { LogFigures } from './segment-store.ts';

export type PitrView = DataOf<Operations['getPitr']>;
type Summary = Pick<PitrView, 'enabled' | 'status' | 'coveredFrom' | 'coveredTo' | 'gaps'>;

/** Further behind than this, capture is catching up. */
const lagSecondsMax = 120;
const gapsShownMax = 1000;

export const noPitr: Summary = { enabled: false, status: 'stopped', coveredFrom: null, coveredTo: null, gaps: [] };

export function presentSummary(row: LogRow, coverage: Coverage, now: Date): Summary {
  const stretches = coverage.bases.flatMap((base) => stretchesFrom(base, coverage.log));
  const from = stretches.map((stretch) => stretch.from).sort()[0];
  const to = stretches
    .map(({ through }) => through)
    .sort()
    .at(-1);
  return {
    enabled: row.enabled,
    status: statusOf(row, coverage, now),
    coveredFrom: from === undefined ? null : shown(from, toMillisecondsUp(from), stretches),
    coveredTo: to === undefined ? null : toExact(to),
    gaps: [...holesIn(stretches, coverage.gaps), ...(to === undefined ? [] : gapsBehind(to, coverage.gaps))]
      .slice(-gapsShownMax)
      .map(({ from, through, reason, deletionsUnknown }) => ({
        from: toMilliseconds(from),
        to: toMillisecondsUp(through),
        reason: `${reason}${deletionsUnknown ? unknownDeletions : ''}${keptMinutes(row, { from, through }, now)}`,
      })),
  };
}

/** Gaps after the last reachable instant. A backup that was read inside a gap can be reached itself. */
function gapsBehind(instant: string, gaps: readonly LogGap[]): LogGap[] {
  return gaps.filter(({ through }) => through > instant).map((gap) => ({ ...gap, from: laterOf(gap.from, instant) }));
}

/** Holes between reachable stretches, and why: a gap, and often some time after it. */
function holesIn(stretches: readonly ReachableStretch[], gaps: readonly LogGap[]): LogGap[] {
  const holes: LogGap[] = [];
  let reached: string | undefined;
  for (const { from, through } of stretches.toSorted((left, right) => (left.from < right.from ? -1 : 1))) {
    if (reached !== undefined && from > reached) holes.push(holeOf(reached, from, gaps));
    if (reached === undefined || through > reached) reached = through;
  }
  return holes;
}

function holeOf(from: string, through: string, all: readonly LogGap[]): LogGap {
  const gaps = all.filter((gap) => gap.from < through && gap.through > from);
  const isDeep = gaps.length > 0 && gaps.every((gap) => gap.deletionsUnknown || gap.through < through);
  const reasons = [...new Set(gaps.map(({ reason }) => reason))].slice(0, reasonsMax);
  return {
    from,
    through,
    reason: reasons.join(' ') || 'No backup leads there: the next one that does was read behind it.',
    ...(isDeep ? { deletionsUnknown: true } : {}),
  };
}

const reasonsMax = 3;
const unknownDeletions = ' Deletions of that time are not known: behind it only a newer base reaches.';

/** What the source's own point-in-time recovery keeps of a gap. */
function keptMinutes(row: LogRow, gap: { from: string; through: string }, now: Date): string {
  const { after } = minutesAround(gap.from, row, now);
  return after !== null && after < gap.through
    ? ' The database itself keeps whole minutes of it for seven days: those can be reached.'
    : '';
}

/** With all digits if the rounded time would not be reachable. */
function shown(exact: string, rounded: string, stretches: readonly ReachableStretch[]): string {
  const instant = instantFromDate(new Date(rounded));
  return stretches.some(({ from, through }) => from <= instant && instant <= through) ? rounded : exact;
}

function statusOf(row: LogRow, coverage: Coverage, now: Date): Summary['status'] {
  if (!row.enabled) return 'stopped';
  if (row.error !== null || coverage.baseError !== null) return 'error';
  if (coverage.bases.length === 0) return 'starting';
  if (!isReachable(row.coveredThrough, coverage)) return 'catching_up';
  return lagOf(row, now) > lagSecondsMax ? 'catching_up' : 'running';
}

function lagOf(row: LogRow, now: Date): number {
  return Math.max(0, Math.round((now.getTime() - Date.parse(row.coveredThrough)) / 1000));
}

export function presentPitr(row: LogRow, coverage: Coverage, figures: LogFigures, now: Date): PitrView {
  return {
    ...presentSummary(row, coverage, now),
    lagSeconds: row.enabled ? lagOf(row, now) : null,
    changesPerHour: figures.hours.map(({ hour, count }) => ({ hour: hour.toISOString(), count })),
    changesPerMinute: figures.minutes.map(({ minute, count }) => ({ minute: minute.toISOString(), count })),
    collections: figures.collections.map(({ id, changes }) => ({ id, changes })),
    retentionDays: row.retentionDays,
    storageDestinationId: row.storageDestinationId,
    lastReconciledAt: row.lastReconciledAt?.toISOString() ?? null,
    readsUsed: row.readsUsed,
    error: (row.error ?? coverage.baseError) as PitrView['error'],
  };
}

export function presentStopped(): PitrView {
  return {
    ...noPitr,
    lagSeconds: null,
    changesPerHour: [],
    changesPerMinute: [],
    collections: [],
    retentionDays: null,
    storageDestinationId: null,
    lastReconciledAt: null,
    readsUsed: 0,
    error: null,
  };
}
