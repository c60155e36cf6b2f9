import { encodeMessage, firestoreType } from '../protos.ts';
import { openDatabase, type Sandbox } from '../sandbox.ts';
import type { Database } from '../store/database.ts';
import type { DocumentEntry } from '../store/document.ts';
import {
  type PreparedWrite,
  prepareWrite,
  WriteBatch,
  type WriteMessage,
  type WriteResultMessage,
} from '../store/write.ts';
import type { Call } from '../transport/call.ts';
import type { UnaryMethod } from '../transport/dispatch.ts';
import { asRpcError, grpcCode, invalid } from '../transport/status.ts';
import { parseDatabaseName } from '../values/name.ts';
import type { Micros } from '../values/timestamp.ts';
import { decodeAs } from './decode-as.ts';

interface StatusMessage {
  code: number;
  message?: string;
}

const requestType = firestoreType('BatchWriteRequest');
const responseType = firestoreType('BatchWriteResponse');
const writesMax = 500;
const ok: StatusMessage = { code: grpcCode.OK };
const overQuota: StatusMessage = { code: grpcCode.RESOURCE_EXHAUSTED, message: 'Quota exceeded.' };

export function batchWriteMethod(sandbox: Sandbox): UnaryMethod {
  return {
    kind: 'unary',
    handle: (bytes, call) => {
      const { database: name, writes } = decodeAs<{
        database: string;
        writes: WriteMessage[];
      }>(requestType, bytes);
      const database = openDatabase(sandbox, call, parseDatabaseName(name), 'write');
      if (writes.length > writesMax) throw invalid(`Maximum ${writesMax} writes allowed per request.`);
      const prepared = writes.map((write) => prepareWrite(database, write));
      checkDistinct(prepared);
      const response = writeEach(sandbox, call, database, prepared);
      sandbox.counters.method(call.method).documents += response.status.filter(
        ({ code }) => code === grpcCode.OK,
      ).length;
      sandbox.faults.afterEffect(call);
      return encodeMessage(responseType, response);
    },
  };
}

/** Each write is separate: one may fail while the others are stored. */
function writeEach(
  sandbox: Sandbox,
  call: Call,
  database: Database,
  writes: readonly PreparedWrite[],
): { writeResults: WriteResultMessage[]; status: StatusMessage[] } {
  const admitted = sandbox.faults.admitWrites(writes.length);
  const time = database.nextCommitTime();
  const changed: DocumentEntry[] = [];
  const writeResults: WriteResultMessage[] = [];
  const status: StatusMessage[] = [];
  writes.forEach((write, index) => {
    const outcome =
      index < admitted ? writeOne(sandbox, call, database, write, time, changed) : { result: {}, status: overQuota };
    if (outcome.status === ok)
      sandbox.counters.billWrites(
        Number(write.message.operation !== 'delete'),
        Number(write.message.operation === 'delete'),
      );
    writeResults.push(outcome.result);
    status.push(outcome.status);
  });
  database.committed(changed, time);
  return { writeResults, status };
}

function writeOne(
  sandbox: Sandbox,
  call: Call,
  database: Database,
  write: PreparedWrite,
  time: Micros,
  changed: DocumentEntry[],
): { result: WriteResultMessage; status: StatusMessage } {
  try {
    sandbox.faults.beforeWrite(call, write.name.path);
    const batch = new WriteBatch(database, time);
    const result = batch.stage(write);
    changed.push(...batch.install());
    return { result, status: ok };
  } catch (error) {
    const { code, message } = asRpcError(error);
    return { result: {}, status: { code, message } };
  }
}

/** Production refuses a batch that touches one document twice: the writes may be applied in any order. */
function checkDistinct(writes: readonly PreparedWrite[]): void {
  const seen = new Set<string>();
  for (const { name } of writes) {
    if (seen.has(name.key)) throw invalid(`Cannot write to the same document more than once: "${name.path}".`);
    seen.add(name.key);
  }
}
