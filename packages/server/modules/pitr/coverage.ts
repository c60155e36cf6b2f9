import {
  coverageOf,
  instantFromDate,
  type LogCoverage,
  type LogGap,
  type ReachableStretch,
  reachableFrom,
} from '@holdfast/engine';
import type { Transaction } from '../../platform/database/database.ts';
import { Problem } from '../../platform/problem.ts';
import { backupStore } from '../backups/index.ts';
import { type LogRow, pitrStore } from './pitr-store.ts';

export interface Base {
  readonly id: string;
  readonly snapshotTime: string;
  readonly documentCount: number;
  readonly trigger: string;
}

/** Which instants of a project can be reached, and from which base. */
export interface Coverage {
  readonly bases: readonly Base[];
  readonly gaps: readonly LogGap[];
  readonly log: LogCoverage;
}

/** One stretch from the beginning of the log to its end: what lies in between is joined by the transactions that wrote it. */
export async function coverageOfLog(transaction: Transaction, row: LogRow): Promise<Coverage> {
  const gaps = await pitrStore.gaps(transaction, row.logId, row.startedFrom);
  const whole = { coveredFrom: row.startedFrom, coveredThrough: row.coveredThrough, marks: [], gap: null };
  const told = gaps.map((gap) => ({ coveredFrom: gap.from, coveredThrough: gap.from, marks: [], gap }));
  const { organizationId, projectId, startedFrom, coveredThrough } = row;
  const bases = await backupStore.wholeBetween(transaction, organizationId, projectId, startedFrom, coveredThrough);
  return { bases, gaps, log: coverageOf([whole, ...told]) };
}

/** The newest base from which the instant can be reached; refused with the reason and the nearest instants when there is none. */
export function baseFor(instant: string, coverage: Coverage, now: Date): Base {
  const base = coverage.bases.findLast(
    ({ snapshotTime }) => snapshotTime <= instant && reaches(instant, reachableFrom(snapshotTime, coverage.log)),
  );
  if (base) return base;
  throw unavailable(instant, coverage, now);
}

function reaches(instant: string, stretches: readonly ReachableStretch[]): boolean {
  return stretches.some(({ from, through }) => from <= instant && instant <= through);
}

function unavailable(instant: string, coverage: Coverage, now: Date): Problem {
  const stretches = coverage.bases.flatMap(({ snapshotTime }) => reachableFrom(snapshotTime, coverage.log));
  const ends = stretches.map(({ through }) => through).filter((end) => end < instant);
  const starts = stretches.map(({ from }) => from).filter((start) => start > instant);
  const before = ends.sort().at(-1) ?? null;
  const after = starts.sort()[0] ?? null;
  const message = `${instant} ${whyNot(instant, { before, after }, coverage, now)}`;
  return new Problem('POINT_IN_TIME_UNAVAILABLE', message, { details: { before, after } });
}

function whyNot(
  instant: string,
  { before, after }: { before: string | null; after: string | null },
  { gaps }: Coverage,
  now: Date,
): string {
  if (before === null && after === null)
    return 'cannot be reached: nothing has been captured yet. The first moment is that of the base backup.';
  if (before === null) return `lies before what was captured. The first moment that can be reached is ${after}.`;
  const gap = gaps.find(({ from, through }) => from < instant && instant < through);
  const neighbours =
    after === null ? `The last moment before it is ${before}.` : `The nearest are ${before} and ${after}.`;
  if (gap) return `lies in a gap: ${gap.reason} ${neighbours}`;
  if (after !== null) return `cannot be reached. ${neighbours}`;
  return instant > instantFromDate(now)
    ? `lies in the future. The newest moment that can be reached is ${before}.`
    : `is not captured yet: the newest moment that can be reached is ${before}. Try again in some seconds.`;
}

export function notEnabled(): Problem {
  return new Problem('POINT_IN_TIME_UNAVAILABLE', 'Point-in-time recovery is not switched on for this project.', {
    details: { before: null, after: null },
  });
}
