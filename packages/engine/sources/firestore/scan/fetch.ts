/** Reads named documents at one instant, a few groups at a time, and yields them in the requested order. */

import { encodeDeletedDocument } from '../../../ports/deleted-document.ts';
import { type ReadOptions, type RecordBatch, recordKind } from '../../../ports/index.ts';
import { endOfVarint, readLength, readTag, skipField } from '../../../ports/wire.ts';
import { minuteMs } from '../../../time/durations.ts';
import type { FirestoreClient } from '../client.ts';
import { messages, methods } from '../protos.ts';
import { readFailure } from '../read-failure.ts';
import { throwIfAborted } from '../retry.ts';
import { GrpcError, grpcCode } from '../transport/status.ts';
import { batchBytesTarget, DocumentBatchBuilder, nameOfDocument } from './document-batch-builder.ts';
import { timestampMessage } from './query.ts';

const groupNamesMax = 500;
const groupNamesFirst = 64;
/** Groups are smaller when documents are large, so that a response stays near this size. */
const groupBytesTarget = 4 * 1024 * 1024;
const groupsAtOnce = 4;
const idleTimeoutMs = minuteMs;
const foundTag = 0x0a;
const missingTag = 0x12;

export async function* fetchDocuments(
  client: FirestoreClient,
  paths: readonly string[],
  options: ReadOptions,
): AsyncGenerator<RecordBatch, void> {
  const builder = new DocumentBatchBuilder(batchBytesTarget);
  // Aborted when the reader leaves early, so that no requests stay behind.
  const left = new AbortController();
  const signal = options.signal === undefined ? left.signal : AbortSignal.any([options.signal, left.signal]);
  const running: { names: string[]; found: Promise<Map<string, Buffer>> }[] = [];
  let next = 0;
  let groupSize = groupNamesFirst;
  try {
    while (next < paths.length || running.length > 0) {
      throwIfAborted(options.signal);
      while (running.length < groupsAtOnce && next < paths.length) {
        const names = paths.slice(next, next + groupSize).map((path) => client.name(path));
        next += names.length;
        const found = fetchGroup(client, names, { ...options, signal });
        found.catch(() => undefined);
        running.push({ names, found });
      }
      const group = running.shift()!;
      const found = await group.found;
      groupSize = sizeOfNextGroup(found, group.names.length);
      for (const name of group.names) {
        const body = found.get(name);
        const kind = body === undefined ? recordKind.delete : recordKind.put;
        const bytes = body ?? encodeDeletedDocument(name, options.readTime);
        if (builder.isFullFor(bytes.length)) yield builder.take()!;
        builder.append(kind, bytes, 0, bytes.length);
      }
    }
    const rest = builder.take();
    if (rest !== undefined) yield rest;
  } catch (error) {
    throw await readFailure(client, error, options);
  } finally {
    left.abort();
  }
}

function sizeOfNextGroup(found: ReadonlyMap<string, Buffer>, names: number): number {
  let bytes = 0;
  for (const body of found.values()) bytes += body.length;
  const perName = Math.max(1, bytes / names);
  return Math.min(groupNamesMax, Math.max(1, Math.floor(groupBytesTarget / perName)));
}

/** Requests again what a broken stream left out. */
async function fetchGroup(
  client: FirestoreClient,
  names: readonly string[],
  options: ReadOptions,
): Promise<Map<string, Buffer>> {
  const retrier = client.retrier(options.signal);
  const found = new Map<string, Buffer>();
  const open = new Set(names);
  while (open.size > 0) {
    const before = open.size;
    await client.readRate?.take(open.size, options.signal);
    try {
      await fetchOnce(client, [...open], options, (name, body) => {
        open.delete(name);
        if (body !== undefined) found.set(name, body);
      });
      if (open.size === before) {
        throw new GrpcError(grpcCode.INTERNAL, 'the database left documents without an answer');
      }
    } catch (error) {
      if (open.size < before) retrier.progress();
      await retrier.afterFailure(error);
    }
  }
  return found;
}

type Settle = (name: string, body: Buffer | undefined) => void;

function fetchOnce(
  client: FirestoreClient,
  names: readonly string[],
  options: ReadOptions,
  settle: Settle,
): Promise<void> {
  const request = messages.batchGetDocumentsRequest.encode({
    database: client.database,
    documents: names,
    readTime: timestampMessage(options.readTime),
  });
  return new Promise((resolve, reject) => {
    const handlers = {
      onMessage: (bytes: Buffer, start: number, end: number) => {
        client.usage.documentsRead += settleOne(bytes, start, end, settle);
        client.usage.bytesReceived += end - start;
      },
      onEnd: (error: GrpcError | undefined) => (error === undefined ? resolve() : reject(error)),
    };
    const limits = { idleTimeoutMs: idleTimeoutMs, signal: options.signal };
    client.channel.open(methods.batchGetDocuments, client.routing('database'), handlers, limits).then((call) => {
      call.send(request);
      call.halfClose();
    }, reject);
  });
}

/** BatchGetDocumentsResponse: found = 1 (Document), missing = 2 (name). Answers how many documents it told of. */
function settleOne(bytes: Buffer, start: number, end: number, settle: Settle): number {
  let position = start;
  while (position < end) {
    const tag = readTag(bytes, position);
    const contentAt = endOfVarint();
    if (tag === foundTag || tag === missingTag) {
      const length = readLength(bytes, contentAt, end);
      const from = endOfVarint();
      if (tag === missingTag) settle(bytes.toString('utf8', from, from + length), undefined);
      else settle(nameOfDocument(bytes, from, from + length), Buffer.from(bytes.subarray(from, from + length)));
      return 1;
    }
    position = skipField(bytes, tag, contentAt, end);
  }
  return 0;
}
