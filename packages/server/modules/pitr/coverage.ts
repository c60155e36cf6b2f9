import { coverageOf, type LogCoverage, type LogGap, type ReachableStretch, reachableFrom } from '@holdfast/engine';
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
  const gaps = await pitrStore.gaps(transaction, row.logId);
  const whole = { coveredFrom: row.startedFrom, coveredThrough: row.coveredThrough, marks: [], gap: null };
  const told = gaps.map((gap) => ({ coveredFrom: gap.from, coveredThrough: gap.from, marks: [], gap }));
  const { organizationId, projectId, startedFrom, coveredThrough } = row;
  const bases = await backupStore.wholeBetween(transaction, organizationId, projectId, startedFrom, coveredThrough);
  return { bases, gaps, log: coverageOf([whole, ...told]) };
}

/** The newest base from which the instant can be reached; refused with the nearest instants when there is none. */
export function baseFor(instant: string, coverage: Coverage): Base {
  const base = coverage.bases.findLast(
    ({ snapshotTime }) => snapshotTime <= instant && reaches(instant, reachableFrom(snapshotTime, coverage.log)),
  );
  if (base) return base;
  const stretches = coverage.bases.flatMap(({ snapshotTime }) => reachableFrom(snapshotTime, coverage.log));
  throw unavailable(instant, stretches);
}

function reaches(instant: string, stretches: readonly ReachableStretch[]): boolean {
  return stretches.some(({ from, through }) => from <= instant && instant <= through);
}

function unavailable(instant: string, stretches: readonly ReachableStretch[]): Problem {
  const before = stretches
    .map(({ through }) => through)
    .filter((end) => end < instant)
    .sort()
    .at(-1);
  const [after] = stretches
    .map(({ from }) => from)
    .filter((start) => start > instant)
    .sort();
  const near = [before, after].filter((bound) => bound !== undefined).join(' and ');
  return new Problem(
    'POINT_IN_TIME_UNAVAILABLE',
    `${instant} cannot be reached.${near ? ` The nearest instants that can are ${near}.` : ' Nothing has been captured yet.'}`,
    { details: { before: before ?? null, after: after ?? null } },
  );
}

export function notEnabled(): Problem {
  return new Problem('POINT_IN_TIME_UNAVAILABLE', 'Point-in-time recovery is not switched on for this project.', {
    details: { before: null, after: null },
  });
}
