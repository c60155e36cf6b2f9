import type { Transaction } from '../../platform/database/database.ts';
import type { Platform } from '../../platform/platform.ts';
import {
  type AdmissionTable,
  type JobRecord,
  lockAdmission,
  markAdmitted,
  nextToAdmit,
  openRecords,
  readmitOpen,
} from './admission-store.ts';

/** One organization has at most this many admitted records of a kind, however many wait. */
export const openPerOrganizationMax = 4;
const openMax = 256;

/** A kind of work that has a record and waits for its turn. The record is the truth; the queue only wakes a worker. */
export interface JobKind<Row extends JobRecord> {
  readonly name: string;
  readonly table: AdmissionTable;
  /**
   * Enqueues what the record needs next. Keys are exclusive, so nothing is queued twice. A key contains the admission,
   * so a worker that is still ending an earlier run does not block the next one.
   */
  enqueue(transaction: Transaction, record: Row, priority: number): Promise<void>;
}

type Work = Pick<Platform, 'clock' | 'database' | 'queue'>;

/**
 * Admits waiting records: few per organization, the organization with the fewest admitted records first. So a thousand
 * waiting records of one organization never delay the single record of another, and an organization's second record
 * comes after the first records of the others. Called after anything that creates or frees a place, and periodically.
 * Extra calls are harmless.
 */
export function admit<Row extends JobRecord>(work: Work, kind: JobKind<Row>): Promise<number> {
  const runs = runsOf.get(work.database) ?? new Map<string, SharedRun>();
  runsOf.set(work.database, runs);
  const run = runs.get(kind.name) ?? new SharedRun();
  runs.set(kind.name, run);
  return run.ask(() => admitAll(work, kind));
}

const runsOf = new WeakMap<Work['database'], Map<string, SharedRun>>();

/**
 * Callers that arrive during a run share the next run, so a burst of calls holds one connection instead of one each.
 */
class SharedRun {
  #running: Promise<number> | undefined;
  #next: Promise<number> | undefined;

  ask(run: () => Promise<number>): Promise<number> {
    if (!this.#running) return this.#begin(run);
    this.#next ??= this.#running.then(nothing, nothing).then(() => {
      this.#next = undefined;
      return this.#begin(run);
    });
    return this.#next;
  }

  #begin(run: () => Promise<number>): Promise<number> {
    this.#running = run().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }
}

function nothing(): void {}

async function admitAll<Row extends JobRecord>(work: Work, kind: JobKind<Row>): Promise<number> {
  for (let admitted = 0; ; ) {
    const some = await admitSome(work, kind);
    admitted += some;
    if (some < admittedAtOnce) return admitted;
  }
}

/** Others wait for the lock, among them calls that somebody waits for, so it is released after a few records. */
const admittedAtOnce = 16;

async function admitSome<Row extends JobRecord>({ clock, database }: Work, kind: JobKind<Row>): Promise<number> {
  return database.system(async (transaction) => {
    await lockAdmission(transaction, kind.name);
    for (let admitted = 0; ; admitted++) {
      if (admitted === admittedAtOnce) return admitted;
      const limits = { perOrganizationMax: openPerOrganizationMax, openMax };
      const next = await nextToAdmit<Row>(transaction, kind.table, limits);
      if (!next) return admitted;
      const now = clock.now();
      await markAdmitted(transaction, kind.table, next.id, now);
      await kind.enqueue(transaction, { ...next, admittedAt: now }, -next.running);
    }
  });
}

/**
 * Enqueues records that have no job, because a job can be lost and a record cannot. Covers every state between
 * admission and end.
 */
export async function requeueLostWork<Row extends JobRecord>({ database }: Work, kind: JobKind<Row>): Promise<void> {
  await database.system(async (transaction) => {
    for (const record of await openRecords<Row>(transaction, kind.table)) await kind.enqueue(transaction, record, 0);
  });
}

/**
 * Runs in the transaction that soft-deletes an organization. Workers notice with their next report that the record has
 * a new admission, and stop silently. The records stay open. Work of a deleted organization is neither admitted nor
 * enqueued, so it pauses until the organization is recovered, and then continues as after the death of a worker.
 */
export async function pauseWork(
  transaction: Transaction,
  kinds: readonly Pick<JobKind<never>, 'name' | 'table'>[],
  organizationId: string,
): Promise<void> {
  for (const { name, table } of kinds) {
    // Keeps others from admitting records of this organization: until the commit they do not see that it is deleted.
    await lockAdmission(transaction, name);
    await readmitOpen(transaction, table, organizationId);
  }
}

/**
 * Identifies the run of a record that a job belongs to. A resumed record gets a new admission, and jobs of its earlier
 * runs do nothing.
 */
export function admissionOf({ admittedAt }: Pick<JobRecord, 'admittedAt'>): number {
  return admittedAt?.getTime() ?? 0;
}

export function jobKey(record: Pick<JobRecord, 'id' | 'admittedAt'>): string {
  return `${record.id}/${admissionOf(record)}`;
}
