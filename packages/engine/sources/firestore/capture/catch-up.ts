/** Closes a gap in the data: names and times of the whole scope are read at one instant and compared with what was known. */

import {
  comparePaths,
  emptyOutline,
  everything,
  type Instant,
  instantFromParts,
  outlineDocument,
  pathOfName,
  type RecordBatch,
  recordKind,
  type Scope,
} from '../../../ports/index.ts';
import { nameOfDocument } from '../batch-builder.ts';
import { forEachRecord } from '../records.ts';
import type { FirestoreSource } from '../source.ts';
import { type Change, deleteChange, putChange } from './changes.ts';

const FETCH_AT_ONCE = 1_000;

export interface CatchUpRequest {
  readonly scope: Scope;
  /** Everything up to here is known. */
  readonly since: Instant;
  readonly at: Instant;
  /** Paths known to have existed, ascending; those that are gone become deletes. */
  readonly known: AsyncIterable<string>;
  /** Told of every path that exists, changed or not. */
  readonly onPath: (path: string) => void;
  readonly signal: AbortSignal | undefined;
}

/** Yields groups of changes: documents written after `since`, and deletes of those that are known and gone. */
export async function* catchUp(source: FirestoreSource, request: CatchUpRequest): AsyncGenerator<Change[], void> {
  const { at, since, scope, signal } = request;
  const options = { readTime: at, ...(signal === undefined ? {} : { signal }) };
  const known = request.known[Symbol.asyncIterator]();
  let nextKnown = await known.next();
  let changedPaths: string[] = [];
  let gone: Change[] = [];
  const flush = async function* (): AsyncGenerator<Change[], void> {
    const changes = [...gone];
    for await (const batch of source.fetch(changedPaths, options)) {
      forEachRecord(batch, (bytes, { kind, bodyStart, end }) => {
        if (kind === recordKind.put) changes.push(putChange(Buffer.from(bytes.subarray(bodyStart, end))));
      });
    }
    changedPaths = [];
    gone = [];
    if (changes.length > 0) yield changes;
  };
  for await (const batch of source.scan(everything, { ...options, scope, namesOnly: true })) {
    for (const { path, updatedAt } of namesOf(batch)) {
      while (!nextKnown.done && comparePaths(nextKnown.value, path) < 0) {
        gone.push(deleteChange(source.client.name(nextKnown.value), at));
        nextKnown = await known.next();
      }
      if (!nextKnown.done && nextKnown.value === path) nextKnown = await known.next();
      request.onPath(path);
      if (updatedAt > since) changedPaths.push(path);
    }
    if (changedPaths.length + gone.length >= FETCH_AT_ONCE) yield* flush();
  }
  for (; !nextKnown.done; nextKnown = await known.next()) {
    gone.push(deleteChange(source.client.name(nextKnown.value), at));
    if (gone.length >= FETCH_AT_ONCE) yield* flush();
  }
  yield* flush();
}

function namesOf(batch: RecordBatch): { path: string; updatedAt: Instant }[] {
  const names: { path: string; updatedAt: Instant }[] = [];
  const outline = emptyOutline();
  forEachRecord(batch, (bytes, { bodyStart, end }) => {
    outlineDocument(bytes, bodyStart, end, outline);
    const updatedAt = instantFromParts(outline.updateSeconds, outline.updateNanos);
    names.push({ path: pathOfName(nameOfDocument(bytes, bodyStart, end)), updatedAt });
  });
  return names;
}
