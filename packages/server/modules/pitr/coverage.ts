import {
  coverageOf,
  instantFromDate,
  type LogCoverage,
  type LogGap,
  logContinuesFrom,
  type ManifestBody,
  type ReachableStretch,
  reachableFrom,
  readThrough,
} from '@holdfast/engine';
import type { Transaction } from '../../platform/database/database.ts';
import { minuteMs } from '../../platform/durations.ts';
import { Problem } from '../../platform/problem.ts';
import { anyLog, type BackupRow, baseStore, type WholeBackup } from '../backups/index.ts';
import type { StoredError } from '../job-error.ts';
import type { LogRow } from './pitr-store.ts';
import { segmentStore } from './segment-store.ts';

export interface Base {
  readonly id: string;
  readonly snapshotTime: string;
  readonly documentCount: number;
  readonly trigger: string;
  /** The first exact instant. When a backup was read at several times, this is after the last of them. */
  readonly exactFrom: string;
  /** False for a base that is damaged or has a withdrawn key. It is used only where no other base reaches. */
  readonly isSound: boolean;
}

/** Which instants of a project can be reached, and from which base. */
export interface Coverage {
  readonly bases: readonly Base[];
  /**
   * Backups of the whole database that were not read at a mark of this log. Captured changes cannot continue from them.
   */
  readonly others: readonly Base[];
  readonly gaps: readonly LogGap[];
  readonly log: LogCoverage;
  /** Why the log has ended; null while it is being captured. */
  readonly endedBecause: string | null;
  /** Why no base reaches the end of the log; null when one does, or while the first is being made. */
  readonly baseError: StoredError | null;
}

/** Attempts to make a base that are further apart than this are unrelated: capture was off in between. */
const sameTroubleMs = 30 * minuteMs;

/**
 * Treats the log as one stretch from its beginning to its end: its segments were joined by the transactions that wrote
 * them.
 */
export async function coverageOfLog(transaction: Transaction, row: LogRow): Promise<Coverage> {
  const all = await segmentStore.gaps(transaction, row.logId);
  const gaps = all.filter(({ isBrief }) => !isBrief);
  const stretch = { coveredFrom: row.startedFrom, coveredThrough: row.coveredThrough, marks: [], gap: null };
  const gapStretches = all.map((gap) => ({ coveredFrom: gap.from, coveredThrough: gap.from, marks: [], gap }));
  const { organizationId, projectId, startedFrom, coveredThrough } = row;
  const whole = await baseStore.wholeBetween(transaction, organizationId, projectId, startedFrom, coveredThrough);
  const { bases = [], others = [] } = Object.groupBy(whole, (one) => (isBaseOf(row, one) ? 'bases' : 'others'));
  const known = {
    bases: bases.map(asBase),
    others: others.map(asBase),
    gaps,
    log: coverageOf([stretch, ...gapStretches]),
  };
  const isReached = !row.enabled || isReachable(coveredThrough, known);
  const baseError = isReached ? null : await errorOfBase(transaction, row);
  return { ...known, endedBecause: endOf(row, baseError), baseError };
}

/**
 * Whether captured changes may be applied to a backup. Around an instant that is not a mark, changes may be missing,
 * and the errors would stay in everything made from the backup. For time that was taken from another log, the marks of
 * that log count.
 */
export function isBaseOf(
  { logId, joined }: Pick<LogRow, 'logId' | 'joined'>,
  backup: { snapshotTime: string | null; logId: string | null },
): boolean {
  if (backup.logId === anyLog) return true;
  const at = backup.snapshotTime ?? '';
  const there = joined.find(({ from, through }) => from <= at && at <= through);
  return backup.logId === (there?.logId ?? logId);
}

function endOf({ enabled, error }: LogRow, baseError: StoredError | null): string | null {
  if (!enabled) return 'Capture is switched off.';
  return error === null ? (baseError?.message ?? null) : `Capture stands still: ${error.message}`;
}

/** While a new base is being made, the error of the last attempt still counts. */
async function errorOfBase(transaction: Transaction, row: LogRow): Promise<StoredError | null> {
  const [last, before] = await baseStore.newestForLog(transaction, row.organizationId, row.projectId, 2);
  const failed = last && isOpen(last) && before && isSoonAfter(last, before) ? before : last;
  if (failed?.status !== 'failed' || failed.error === null) return null;
  return { ...failed.error, message: `The base of captured changes could not be made: ${failed.error.message}` };
}

export function isOpen({ status }: BackupRow): boolean {
  return status === 'pending' || status === 'running';
}

function isSoonAfter({ createdAt }: BackupRow, before: BackupRow): boolean {
  return createdAt.getTime() - (before.completedAt ?? before.createdAt).getTime() < sameTroubleMs;
}

function asBase({ snapshots, logId: _logId, ...base }: WholeBackup): Base {
  const laterMs = snapshots.length > 1 ? snapshots.map(({ time }) => Date.parse(time) + 1) : [];
  const exactFrom = laterMs.map((ms) => instantFromDate(new Date(ms))).reduce(laterOf, base.snapshotTime);
  return { ...base, exactFrom };
}

export function laterOf(left: string, right: string): string {
  return left > right ? left : right;
}

/** The time that can be reached from a base. */
export function stretchesFrom({ snapshotTime, exactFrom }: Base, log: LogCoverage): ReachableStretch[] {
  return reachableFrom(snapshotTime, log, exactFrom)
    .filter(({ through }) => through >= exactFrom)
    .map(({ from, through }) => ({ from: laterOf(from, exactFrom), through }));
}

/**
 * The newest base from which the instant can be reached. Without one, throws with the reason and the nearest reachable
 * instants.
 */
export function baseFor(instant: string, coverage: Coverage, now: Date, minutes: Neighbours = noNeighbours): Base {
  const base = findBase(instant, coverage);
  if (base) return base;
  throw unavailable(instant, coverage, now, minutes);
}

export function findBase(instant: string, { bases, log }: Pick<Coverage, 'bases' | 'log'>): Base | undefined {
  const reaching = bases.filter((base) => base.exactFrom <= instant && reaches(instant, stretchesFrom(base, log)));
  return reaching.findLast(({ isSound }) => isSound) ?? reaching.at(-1);
}

/** Whether a readable base, as far as that is known, reaches the instant. */
export function isReachable(instant: string, coverage: Pick<Coverage, 'bases' | 'log'>): boolean {
  return findBase(instant, coverage)?.isSound === true;
}

/** The last reachable instant up to this one; null without one. */
export function lastReachable(instant: string, { bases, log }: Coverage): string | null {
  const reached = bases
    .flatMap((base) => stretchesFrom(base, log))
    .filter(({ from }) => from <= instant)
    .map(({ through }) => (through < instant ? through : instant));
  return reached.sort().at(-1) ?? null;
}

/** Whether all changes from a backup up to an instant were captured, so that the state then follows from the backup. */
export function isUnbroken(body: ManifestBody, through: string, { gaps, log }: Coverage): boolean {
  const from = body.snapshotTime;
  const isCovered = log.stretches.some((one) => one.coveredFrom <= from && through <= one.coveredThrough);
  if (!isCovered || !logContinuesFrom(from, log, readThrough(body))) return false;
  return gaps.every((gap) => gap.isQuiet || gap.through <= from || gap.from >= through);
}

function reaches(instant: string, stretches: readonly ReachableStretch[]): boolean {
  return stretches.some(({ from, through }) => from <= instant && instant <= through);
}

/** The nearest instants that can be reached. */
export interface Neighbours {
  readonly before: string | null;
  readonly after: string | null;
}
const noNeighbours: Neighbours = { before: null, after: null };

function unavailable(instant: string, coverage: Coverage, now: Date, minutes: Neighbours): Problem {
  const stretches = coverage.bases.flatMap((base) => stretchesFrom(base, coverage.log));
  const ends = stretches.map(({ through }) => through).filter((end) => end < instant);
  const starts = stretches.map(({ from }) => from).filter((start) => start > instant);
  // Whole minutes that the source keeps are neighbours too.
  if (minutes.before !== null) ends.push(minutes.before);
  if (minutes.after !== null) starts.push(minutes.after);
  const before = ends.sort().at(-1) ?? null;
  const after = starts.sort()[0] ?? null;
  const message = `${instant} ${whyNot(instant, { before, after }, coverage, now)}`;
  return new Problem('POINT_IN_TIME_UNAVAILABLE', message, { details: { before, after } });
}

function whyNot(
  instant: string,
  { before, after }: { before: string | null; after: string | null },
  { gaps, endedBecause, baseError }: Coverage,
  now: Date,
): string {
  const gap = gaps.find(({ from, through }) => from < instant && instant < through);
  if (before === null && after === null)
    return gap
      ? `lies in a gap: ${gap.reason} Nothing else can be reached yet.`
      : `cannot be reached: nothing has been captured yet. ${baseError?.message ?? 'The first moment is that of the base backup.'}`;
  if (before === null)
    return gap
      ? `lies in a gap: ${gap.reason} The first moment behind it is ${after}.`
      : `lies before what was captured. The first moment that can be reached is ${after}.`;
  const neighbours =
    after === null ? `The last moment before it is ${before}.` : `The nearest are ${before} and ${after}.`;
  if (gap) return `lies in a gap: ${gap.reason} ${neighbours}`;
  if (after !== null) return `cannot be reached. ${neighbours}`;
  const newest = `The newest moment that can be reached is ${before}.`;
  if (instant > instantFromDate(now)) return `lies in the future. ${newest}`;
  if (endedBecause !== null) return `lies behind what was captured. ${endedBecause} ${newest}`;
  const broken = gaps.findLast(
    ({ deletionsUnknown, through }) => deletionsUnknown && before !== null && before < through,
  );
  if (broken)
    return `lies behind a gap from which nothing leads on until the next base is made: ${broken.reason} ${newest}`;
  return `is not captured yet. ${newest} Try again in some seconds.`;
}

export function notEnabled(): Problem {
  return new Problem('POINT_IN_TIME_UNAVAILABLE', 'Point-in-time recovery is not switched on for this project.', {
    details: { before: null, after: null },
  });
}
