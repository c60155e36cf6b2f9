import { encodeMessage, firestoreType } from '../protos.ts';
import { openDatabase, type Sandbox } from '../sandbox.ts';
import type { Database } from '../store/database.ts';
import { prepareWrite, WriteBatch, type WriteMessage, type WriteResultMessage } from '../store/write.ts';
import type { UnaryMethod } from '../transport/dispatch.ts';
import { invalid, RpcError } from '../transport/status.ts';
import { parseDatabaseName } from '../values/name.ts';
import { type Micros, timestampFrom } from '../values/timestamp.ts';
import { decodeAs } from './decode-as.ts';
import { beginTransaction, type TransactionOptionsMessage } from './snapshot.ts';

interface CommitRequest {
  database: string;
  writes: WriteMessage[];
  transaction: Uint8Array;
}

const commitRequest = firestoreType('CommitRequest');
const commitResponse = firestoreType('CommitResponse');
const beginRequest = firestoreType('BeginTransactionRequest');
const beginResponse = firestoreType('BeginTransactionResponse');
const rollbackRequest = firestoreType('RollbackRequest');

/** Applies writes all together or not at all. */
export function commitWrites(
  sandbox: Sandbox,
  database: Database,
  writes: readonly WriteMessage[],
): { results: WriteResultMessage[]; time: Micros } {
  takeQuota(sandbox, writes.length);
  const time = database.nextCommitTime();
  const batch = new WriteBatch(database, time);
  const results = writes.map((write) => batch.stage(prepareWrite(database, write)));
  database.committed(batch.install(), time);
  const deletes = writes.filter((write) => write.operation === 'delete').length;
  sandbox.counters.billWrites(writes.length - deletes, deletes);
  return { results, time };
}

function takeQuota(sandbox: Sandbox, count: number): void {
  if (sandbox.faults.admitWrites(count) < count) throw new RpcError('RESOURCE_EXHAUSTED', 'Quota exceeded.');
}

export function commitMethod(sandbox: Sandbox): UnaryMethod {
  return {
    kind: 'unary',
    handle: (bytes, call) => {
      const request = decodeAs<CommitRequest>(commitRequest, bytes);
      const database = openDatabase(sandbox, call, parseDatabaseName(request.database), 'write');
      if (request.transaction.length > 0) closeTransaction(database, request.transaction, request.writes.length > 0);
      const { results, time } = commitWrites(sandbox, database, request.writes);
      sandbox.counters.method(call.method).documents += results.length;
      sandbox.faults.afterEffect(call);
      return encodeMessage(commitResponse, { writeResults: results, commitTime: timestampFrom(time) });
    },
  };
}

function closeTransaction(database: Database, id: Uint8Array, writes: boolean): void {
  const transaction = database.transactions.close(id);
  if (!writes) return;
  if (transaction.readOnly) throw invalid('Cannot modify entities in a read-only transaction.');
  transaction.checkUnchanged(database, database.currentTime());
}

export function beginTransactionMethod(sandbox: Sandbox): UnaryMethod {
  return {
    kind: 'unary',
    handle: (bytes, call) => {
      const request = decodeAs<{
        database: string;
        options: TransactionOptionsMessage | null;
      }>(beginRequest, bytes);
      const database = openDatabase(sandbox, call, parseDatabaseName(request.database), 'read');
      return encodeMessage(beginResponse, { transaction: beginTransaction(database, request.options).id });
    },
  };
}

export function rollbackMethod(sandbox: Sandbox): UnaryMethod {
  return {
    kind: 'unary',
    handle: (bytes, call) => {
      const request = decodeAs<{ database: string; transaction: Uint8Array }>(rollbackRequest, bytes);
      const database = openDatabase(sandbox, call, parseDatabaseName(request.database), 'read');
      database.transactions.close(request.transaction);
      return new Uint8Array(0);
    },
  };
}
