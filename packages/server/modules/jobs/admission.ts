import type { Transaction } from '../../platform/database/database.ts';
import type { Platform } from '../../platform/platform.ts';
import {
  type JobRecord,
  lockTurns,
  markAdmitted,
  nextInTurn,
  openRecords,
  readmitOpen,
  type TurnTable,
} from './turn-store.ts';

/** One organization has at most so many records of a kind under way, however many wait. */
export const openPerOrganizationMax = 4;
const openMax = 256;

/** A kind of work that has a record and waits for its turn. The record is the truth; the queue only wakes a worker. */
export interface JobKind<Row extends JobRecord> {
  readonly name: string;
  readonly turns: TurnTable;
  /**
   * Enqueues what the record waits for now. Keys are exclusive, so what is queued or running is not queued twice; and they
   * hold the admission, so that a worker that is still leaving the run before never stands in the way of the next.
   */
  enqueue(transaction: Transaction, record: Row, priority: number): Promise<void>;
}

type Work = Pick<Platform, 'clock' | 'database' | 'queue'>;

/**
 * Lets waiting records in: few per organization, the organization with the fewest under way first. A thousand waiting
 * records of one organization thus never stand before the single one of another; and of those let in, the first of an
 * organization comes before the second of another. Runs after anything that makes or frees a place, and again and again by
 * the clock; doing so once too often is harmless.
 */
export function admit<Row extends JobRecord>(work: Work, kind: JobKind<Row>): Promise<number> {
  const looks = looksOf.get(work.database) ?? new Map<string, SharedLook>();
  looksOf.set(work.database, looks);
  const look = looks.get(kind.name) ?? new SharedLook();
  looks.set(kind.name, look);
  return look.ask(() => admitAll(work, kind));
}

const looksOf = new WeakMap<Work['database'], Map<string, SharedLook>>();

/** Whoever asks while a look is under way shares the next one: a burst of calls holds one connection, not one each. */
class SharedLook {
  #running: Promise<number> | undefined;
  #next: Promise<number> | undefined;

  ask(look: () => Promise<number>): Promise<number> {
    if (!this.#running) return this.#begin(look);
    this.#next ??= this.#running.then(nothing, nothing).then(() => {
      this.#next = undefined;
      return this.#begin(look);
    });
    return this.#next;
  }

  #begin(look: () => Promise<number>): Promise<number> {
    this.#running = look().finally(() => {
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

/** Others wait for the lock, calls that somebody waits for among them: it is given back after a few. */
const admittedAtOnce = 16;

async function admitSome<Row extends JobRecord>({ clock, database }: Work, kind: JobKind<Row>): Promise<number> {
  return database.system(async (transaction) => {
    await lockTurns(transaction, kind.name);
    for (let admitted = 0; ; admitted++) {
      if (admitted === admittedAtOnce) return admitted;
      const limits = { perOrganizationMax: openPerOrganizationMax, openMax };
      const next = await nextInTurn<Row>(transaction, kind.turns, limits);
      if (!next) return admitted;
      const now = clock.now();
      await markAdmitted(transaction, kind.turns, next.id, now);
      await kind.enqueue(transaction, { ...next, admittedAt: now }, -next.running);
    }
  });
}

/** Enqueues again whatever nobody works on: a job can be lost, its record cannot. Every state between admission and end counts. */
export async function requeueLostWork<Row extends JobRecord>({ database }: Work, kind: JobKind<Row>): Promise<void> {
  await database.system(async (transaction) => {
    for (const record of await openRecords<Row>(transaction, kind.turns)) await kind.enqueue(transaction, record, 0);
  });
}

/**
 * In the transaction that deletes an organization, while it can be recovered: whoever works for it finds its record let in
 * anew when it next reports, and stops without a word. The records stay open. Work of deleted organizations is neither let in
 * nor enqueued again, so they stand still until the organization is recovered, and then go on as after the death of a worker.
 */
export async function standStill(
  transaction: Transaction,
  kinds: readonly Pick<JobKind<never>, 'name' | 'turns'>[],
  organizationId: string,
): Promise<void> {
  for (const { name, turns } of kinds) {
    // Nobody lets in a record of this organization behind our back: until the commit it looks as if it were not deleted.
    await lockTurns(transaction, name);
    await readmitOpen(transaction, turns, organizationId);
  }
}

/** Which run of a record a job belongs to. A record that is resumed is admitted anew, and jobs of its earlier runs do nothing. */
export function admissionOf({ admittedAt }: Pick<JobRecord, 'admittedAt'>): number {
  return admittedAt?.getTime() ?? 0;
}

export function jobKey(record: Pick<JobRecord, 'id' | 'admittedAt'>): string {
  return `${record.id}/${admissionOf(record)}`;
}
