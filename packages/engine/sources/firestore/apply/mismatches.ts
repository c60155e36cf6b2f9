/**
 * Handles writes that found another version than they may replace: each document is read, and sent again only over the
 * version that was seen.
 */

import { haveSameFields, isMergeOf } from '../../../format/same-content.ts';
import {
  type Instant,
  instantFromParts,
  isCreatedAfter,
  isEngineError,
  isLater,
  recordKind,
  type Version,
  versionOfDocument,
} from '../../../ports/index.ts';
import { snapshotTime } from '../database-info.ts';
import { fetchDocuments } from '../scan/fetch.ts';
import { eachPath, forEachRecord } from '../scan/records.ts';
import { grpcCode } from '../transport/status.ts';
import { contentOf, mergeMask } from './merge-masks.ts';
import { fail, leaveToConflict, type SendContext, skip, succeed } from './outcomes.ts';
import type { OverVersion, WriteBatch } from './write-batch.ts';

const mismatchCodes: ReadonlySet<number> = new Set([
  grpcCode.NOT_FOUND,
  grpcCode.ALREADY_EXISTS,
  grpcCode.FAILED_PRECONDITION,
]);
/** A document that changes faster than it can be read is given up. */
const looksMax = 8;

export function isMismatch(context: SendContext, batch: WriteBatch, index: number, code: number): boolean {
  if (leavesExisting(context, batch, index)) return code === grpcCode.ALREADY_EXISTS;
  return context.expected[batch.slots[index]!] !== undefined && mismatchCodes.has(code);
}

/** Deletes name the version they may delete, in every mode. */
export function leavesExisting({ mode }: SendContext, batch: WriteBatch, index: number): boolean {
  return mode === 'skip_existing' && !(batch.hasDeletes && batch.isDelete(index));
}

/** The writes that may overwrite the version that was found; undefined when none may. */
export async function resolveMismatches(
  context: SendContext,
  batch: WriteBatch,
  indices: readonly number[],
): Promise<WriteBatch | undefined> {
  const { guard } = context;
  if (guard === undefined) throw new Error('versions were expected without a guard');
  const found = await fetchNow(
    context,
    indices.map((index) => batch.path(index)),
  );
  const goneBefore = await findGoneBefore(context, batch, indices, found);
  const over: OverVersion[] = [];
  for (const index of indices) {
    const slot = batch.slots[index]!;
    const path = batch.path(index);
    const document = found.get(path) ?? null;
    if (context.isInquiry && isUntouched(document, context.expected[slot])) {
      skip(context, batch, index);
      continue;
    }
    const mayBeOurs = context.mayBeRepeated && !goneBefore.has(index);
    if (mayBeOurs && (await isKnownAgain(context, batch, index, document))) continue;
    if (context.isInquiry || leavesExisting(context, batch, index)) {
      skip(context, batch, index);
      continue;
    }
    const looks = (context.looks.get(slot) ?? 0) + 1;
    context.looks.set(slot, looks);
    if (looks > looksMax) {
      fail(context, batch, index, grpcCode.ABORTED, 'the document changes faster than it can be saved');
      continue;
    }
    const kind = batch.isDelete(index) ? recordKind.delete : recordKind.put;
    const decision = await guard.onMismatch({ path, kind, found: document });
    if (decision === 'conflict') leaveToConflict(context, batch, index);
    else if (decision === 'skip') skip(context, batch, index);
    else {
      const expected = document && versionOfDocument(document);
      context.expected[slot] = expected;
      if (context.mode === 'merge') context.over.set(slot, document);
      over.push({ index, expected, mask: maskOver(context, batch, index, document) });
    }
  }
  return over.length > 0 ? batch.pickOver(over) : undefined;
}

/** The writes of which the database shows nothing; the others are counted as written. */
export async function withoutWritten<One extends { readonly index: number }>(
  context: SendContext,
  batch: WriteBatch,
  writes: readonly One[],
): Promise<One[]> {
  if (!context.guard) return [...writes];
  const indices = writes.map(({ index }) => index);
  const found = await fetchNow(
    context,
    indices.map((index) => batch.path(index)),
  );
  const goneBefore = await findGoneBefore(context, batch, indices, found);
  const left: One[] = [];
  for (const one of writes) {
    const document = found.get(batch.path(one.index)) ?? null;
    if (goneBefore.has(one.index) || !(await isKnownAgain(context, batch, one.index, document))) left.push(one);
  }
  return left;
}

/**
 * Deletes that find no document, and would have found none, or another version, when they were first sent: somebody
 * else changed it.
 */
async function findGoneBefore(
  context: SendContext,
  batch: WriteBatch,
  indices: readonly number[],
  found: ReadonlyMap<string, Uint8Array>,
): Promise<ReadonlySet<number>> {
  const { mayBeRepeated, sentAfter, expected } = context;
  const gone = indices.filter((index) => batch.isDelete(index) && !found.has(batch.path(index)));
  if (!mayBeRepeated || sentAfter === undefined || gone.length === 0) return new Set();
  const paths = gone.map((index) => batch.path(index));
  const then = await fetchAt(context, paths, instantFromParts(sentAfter.seconds, sentAfter.nanos)).catch(ifForgotten);
  if (then === undefined) return new Set();
  return new Set(
    gone.filter((index) => !isUntouched(then.get(batch.path(index)) ?? null, expected[batch.slots[index]!])),
  );
}

/** The database keeps old versions for at least an hour. */
function ifForgotten(error: unknown): undefined {
  if (!isEngineError(error, 'SNAPSHOT_TOO_OLD')) throw error;
}

/** True when an attempt without an answer has written this; then it is counted as written. */
async function isKnownAgain(
  context: SendContext,
  batch: WriteBatch,
  index: number,
  document: Uint8Array | null,
): Promise<boolean> {
  if (!(await isWritten(context, batch, index, document))) return false;
  const saved = await context.guard?.savedVersion?.(batch.path(index));
  if (saved !== undefined) context.expected[batch.slots[index]!] = saved;
  succeed(context, batch, index, document && versionOfDocument(document));
  return true;
}

/** The fields of a merge depend on the existing document, which is a different one now. */
function maskOver(
  { mode }: SendContext,
  batch: WriteBatch,
  index: number,
  document: Uint8Array | null,
): Buffer | undefined {
  if (mode !== 'merge' || batch.isDelete(index)) return undefined;
  return mergeMask(contentOf(batch.document(index)), document === null ? undefined : contentOf(Buffer.from(document)));
}

/** Still the version that was to be replaced. */
function isUntouched(document: Uint8Array | null, expected: Version | null | undefined): boolean {
  if (expected === undefined) return false;
  const version = document && versionOfDocument(document);
  return version?.seconds === expected?.seconds && version?.nanos === expected?.nanos;
}

/** The result of the write is there already: the answer to an earlier attempt was lost. */
async function isWritten(
  { guard, mode, over, sentAfter }: SendContext,
  batch: WriteBatch,
  index: number,
  document: Uint8Array | null,
): Promise<boolean> {
  if (batch.isDelete(index)) return document === null;
  if (document === null) return false;
  // Somebody else wrote the same before this was sent. It belongs to them, and an undo must not remove it.
  if (sentAfter !== undefined && !isLater(versionOfDocument(document), sentAfter)) return false;
  const intended = batch.document(index);
  // Where existing documents are left alone, an equal document is not enough: an undo would remove it.
  if (mode === 'skip_existing' && !(guard?.began && isCreatedAfter(document, guard.began))) return false;
  if (mode !== 'merge') return haveSameFields(document, intended);
  const found = over.get(batch.slots[index]!);
  const former = found === undefined ? await guard?.former(batch.path(index)) : (found ?? undefined);
  return isMergeOf(document, former, intended);
}

async function fetchNow(context: SendContext, paths: string[]): Promise<Map<string, Uint8Array>> {
  const { client, signal } = context;
  return await fetchAt(context, paths, await snapshotTime(client, { signal }));
}

async function fetchAt(
  { client, signal }: SendContext,
  paths: string[],
  readTime: Instant,
): Promise<Map<string, Uint8Array>> {
  const found = new Map<string, Uint8Array>();
  for await (const batch of fetchDocuments(client, paths, { readTime, signal })) {
    const names = eachPath(batch);
    let position = 0;
    forEachRecord(batch, (bytes, { kind, bodyStart, end }) => {
      const path = names[position++]!;
      if (kind === recordKind.put) found.set(path, Buffer.from(bytes.subarray(bodyStart, end)));
    });
  }
  return found;
}
