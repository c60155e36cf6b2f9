import type { Database } from '../store/database.ts';
import type { Transaction } from '../store/transactions.ts';
import { invalid } from '../transport/status.ts';
import { type Micros, microsFrom, type TimestampMessage } from '../values/timestamp.ts';

export interface TransactionOptionsMessage {
  mode?: 'readOnly' | 'readWrite';
  readOnly?: { readTime?: TimestampMessage | null } | null;
  readWrite?: { retryTransaction?: Uint8Array } | null;
}

/** The consistency selector that reads share. */
export interface ConsistencyMessage {
  consistencySelector?: 'transaction' | 'newTransaction' | 'readTime';
  transaction?: Uint8Array;
  newTransaction?: TransactionOptionsMessage;
  readTime?: TimestampMessage | null;
}

/** The time of a read, and its transaction; `begun` if this read begins it. */
export interface Snapshot {
  readonly time: Micros;
  readonly transaction: Transaction | null;
  readonly begun: boolean;
}

export function openSnapshot(database: Database, message: ConsistencyMessage): Snapshot {
  switch (message.consistencySelector) {
    case 'transaction': {
      const transaction = database.transactions.use(message.transaction!);
      return { time: transaction.readTime, transaction, begun: false };
    }
    case 'newTransaction': {
      const transaction = beginTransaction(database, message.newTransaction!);
      return { time: transaction.readTime, transaction, begun: true };
    }
    case 'readTime':
      return { time: readTimeOf(database, message.readTime!), transaction: null, begun: false };
    default:
      return { time: database.currentTime(), transaction: null, begun: false };
  }
}

function readTimeOf(database: Database, message: TimestampMessage): Micros {
  if ((message.nanos ?? 0) % 1000 !== 0) throw invalid('read_time must have microsecond precision.');
  return database.checkReadTime(microsFrom(message));
}

export function beginTransaction(database: Database, options: TransactionOptionsMessage | null): Transaction {
  if (options?.mode !== 'readOnly') return database.transactions.begin(false, null);
  const readTime = options.readOnly?.readTime;
  return database.transactions.begin(true, readTime ? readTimeOf(database, readTime) : null);
}
