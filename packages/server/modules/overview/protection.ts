import type { DataOf, Operations } from '@holdfast/contract';
import { later, minuteMs } from '../../platform/durations.ts';

export type Protection = DataOf<Operations['getOverview']>['projects'][number]['protection'];
type Reason = Protection['reasons'][number];
type Code = Reason['code'];

/** The facts behind the verdict on a project. */
export interface ProjectFacts {
  readonly connection: 'connected' | 'unauthorized' | 'error';
  readonly scheduleCount: number;
  /** Of the enabled schedule that runs most often; null without one. */
  readonly rhythm: Rhythm | null;
  /** The newest good backup. */
  readonly newest: { readonly startedAt: Date; readonly asOf: Date } | null;
  /** There are backups, and the key of each one was withdrawn. */
  readonly isSealed: boolean;
  /** A backup that is newer than the newest good one is damaged. */
  readonly isDamaged: boolean;
  /** How many of the newest backups failed in a row. */
  readonly failuresInRow: number;
  readonly isStorageBroken: boolean;
  /** A schedule writes to the default storage, and there is none. */
  readonly isStorageMissing: boolean;
  readonly isCaptureBroken: boolean;
  readonly hasAnomaly: boolean;
}

export interface Rhythm {
  readonly intervalMs: number;
  readonly missedAfterMinutes: number;
  /** The newest due time by which a run must have begun, and the previous one; null where there was none yet. */
  readonly lastDue: Date | null;
  readonly dueBefore: Date | null;
}

const states: Record<Code, 'unprotected' | 'at_risk' | 'manual'> = {
  never_backed_up: 'unprotected',
  key_withdrawn: 'unprotected',
  damaged: 'unprotected',
  unauthorized: 'unprotected',
  failing: 'unprotected',
  no_storage: 'unprotected',
  very_late: 'unprotected',
  late: 'at_risk',
  storage_error: 'at_risk',
  source_error: 'at_risk',
  capture_stopped: 'at_risk',
  anomaly: 'at_risk',
  schedule_disabled: 'manual',
  no_schedule: 'manual',
};

/** The worst first, for readers who read only one sentence. */
const worstFirst = Object.keys(states) as Code[];

const messages: Record<Code, string> = {
  never_backed_up: 'There is no backup of it yet.',
  key_withdrawn: 'The key of its backups was withdrawn: they cannot be read until it is supplied again.',
  damaged: 'Its newest backup was found damaged when it was verified. Take a new one.',
  unauthorized: 'Google no longer accepts the connection. Reconnect the project.',
  failing: 'The last backups failed one after the other.',
  very_late: 'The newest good backup is older than two intervals of its schedule.',
  late: 'The newest good backup is older than its schedule promises.',
  no_storage: 'A schedule of it names no storage, and there is no default one: its backups fail.',
  storage_error: 'A storage destination of its backups does not work.',
  source_error: 'Its database could not be reached the last time.',
  capture_stopped: 'Point-in-time recovery does not reach the present; its page says why.',
  anomaly: 'A backup looks suspicious and nobody has looked at it yet.',
  schedule_disabled: 'Its schedules are switched off, so it is backed up by hand only.',
  no_schedule: 'It has no schedule, so it is backed up by hand only.',
};

/** Whether a project is protected, and everything that is wrong. */
export function judge(facts: ProjectFacts, now: Date): Protection {
  const codes = new Set(reasonsOf(facts, now));
  const reasons = worstFirst.filter((code) => codes.has(code)).map((code) => ({ code, message: messages[code] }));
  // Without a schedule nothing is expected, so nothing can be late.
  if (facts.rhythm === null) return { state: 'manual', reasons };
  return { state: reasons[0] ? (states[reasons[0].code] as Protection['state']) : 'protected', reasons };
}

function* reasonsOf(facts: ProjectFacts, now: Date): Generator<Code> {
  if (facts.isDamaged) yield 'damaged';
  else if (facts.newest === null) yield facts.isSealed ? 'key_withdrawn' : 'never_backed_up';
  if (facts.connection === 'unauthorized') yield 'unauthorized';
  if (facts.connection === 'error') yield 'source_error';
  if (facts.failuresInRow >= 2) yield 'failing';
  if (facts.isStorageMissing) yield 'no_storage';
  if (facts.isStorageBroken) yield 'storage_error';
  if (facts.isCaptureBroken) yield 'capture_stopped';
  if (facts.hasAnomaly) yield 'anomaly';
  if (facts.rhythm === null) yield facts.scheduleCount > 0 ? 'schedule_disabled' : 'no_schedule';
  else if (facts.newest) yield* latenessOf(facts.newest, facts.rhythm, now);
}

/**
 * Measured against the schedule's due times: on a Sunday, Friday's backup of a schedule for working days is in time. A
 * backup begun at or after the last due time is in time; a manual one from shortly before counts for an interval.
 */
function* latenessOf(newest: NonNullable<ProjectFacts['newest']>, rhythm: Rhythm, now: Date): Generator<Code> {
  const { lastDue, dueBefore, missedAfterMinutes } = rhythm;
  if (lastDue === null || newest.startedAt >= lastDue) return;
  const intervalMs = dueBefore ? lastDue.getTime() - dueBefore.getTime() : rhythm.intervalMs;
  const isOlderThan = (intervals: number) =>
    newest.asOf < later(now, -(intervals * intervalMs + missedAfterMinutes * minuteMs));
  if (isOlderThan(2)) yield 'very_late';
  else if (isOlderThan(1)) yield 'late';
}
