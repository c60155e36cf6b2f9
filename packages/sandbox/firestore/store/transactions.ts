import { randomBytes } from 'node:crypto';
import { invalid, RpcError } from '../transport/status.ts';
import { type Micros, minuteMicros, secondMicros } from '../values/timestamp.ts';
import { type DocumentEntry, versionAt } from './document.ts';

const lifetime: Micros = 270 * secondMicros;
const idle: Micros = minuteMicros;
const transactionsMax = 10_000;

/** What a transaction needs of its database. */
interface Documents {
  entry(key: string): DocumentEntry | undefined;
  currentTime(): Micros;
  now(): Micros;
}

/** A query read in a transaction: repeated at commit, to check whether its result is unchanged. */
export interface ReadQuery {
  fingerprint(time: Micros): string;
}

/**
 * Optimistic concurrency: a transaction reads at one time and notes what it read. Its commit fails with ABORTED when
 * any of it has changed since. The first to commit wins.
 */
export class Transaction {
  readonly id: Buffer;
  readonly readOnly: boolean;
  readonly readTime: Micros;
  readonly startedAt: Micros;
  lastUsedAt: Micros;
  readonly #keys = new Set<string>();
  readonly #queries: ReadQuery[] = [];

  constructor(readOnly: boolean, readTime: Micros, now: Micros) {
    this.id = randomBytes(16);
    this.readOnly = readOnly;
    this.readTime = readTime;
    this.startedAt = now;
    this.lastUsedAt = now;
  }

  noteDocument(key: string): void {
    if (!this.readOnly) this.#keys.add(key);
  }

  noteQuery(query: ReadQuery): void {
    if (!this.readOnly) this.#queries.push(query);
  }

  checkUnchanged(database: Documents, now: Micros): void {
    for (const key of this.#keys) {
      const entry = database.entry(key);
      if (entry !== undefined && versionAt(entry, this.readTime) !== versionAt(entry, now)) throw contention();
    }
    for (const query of this.#queries) {
      if (query.fingerprint(this.readTime) !== query.fingerprint(now)) throw contention();
    }
  }
}

function contention(): RpcError {
  return new RpcError('ABORTED', 'Too much contention on these documents. Please try again.');
}

/** The open transactions of one database. */
export class Transactions {
  readonly #database: Documents;
  readonly #open = new Map<string, Transaction>();

  constructor(database: Documents) {
    this.#database = database;
  }

  begin(readOnly: boolean, readTime: Micros | null): Transaction {
    this.#expire();
    if (this.#open.size >= transactionsMax) throw new RpcError('RESOURCE_EXHAUSTED', 'Too many open transactions.');
    const time = readTime ?? this.#database.currentTime();
    const transaction = new Transaction(readOnly, time, this.#database.now());
    this.#open.set(transaction.id.toString('hex'), transaction);
    return transaction;
  }

  use(id: Uint8Array): Transaction {
    this.#expire();
    const transaction = this.#open.get(Buffer.from(id).toString('hex'));
    if (transaction === undefined) throw invalid('The referenced transaction has expired or is no longer valid.');
    transaction.lastUsedAt = this.#database.now();
    return transaction;
  }

  /** Ends a transaction; it cannot be used again. */
  close(id: Uint8Array): Transaction {
    const transaction = this.use(id);
    this.#open.delete(transaction.id.toString('hex'));
    return transaction;
  }

  #expire(): void {
    const now = this.#database.now();
    for (const [id, transaction] of this.#open) {
      if (now - transaction.startedAt > lifetime || now - transaction.lastUsedAt > idle) this.#open.delete(id);
    }
  }
}
