/** All names of one collection group at one instant, and the differences to what is known about it. */

import {
  comparePaths,
  emptyOutline,
  type Instant,
  instantFromParts,
  outlineDocument,
  pathOfName,
  type ReadOptions,
  type RecordBatch,
  recordKind,
} from '../../../ports/index.ts';
import type { FirestoreClient } from '../client.ts';
import { DocumentBatchBuilder, nameOfDocument } from '../scan/document-batch-builder.ts';
import { fetchDocuments } from '../scan/fetch.ts';
import { timestampMessage } from '../scan/query.ts';
import { eachPath, forEachRecord } from '../scan/records.ts';
import { runQuery } from '../scan/run-query.ts';
import { type Change, deleteChange, putChange } from './changes.ts';

/** Differences of one group kept in memory; with more, a full scan is needed. */
export const differencesMax = 200_000;

export interface NameAndTime {
  readonly path: string;
  readonly at: Instant;
}

export interface GroupDifference {
  readonly changes: Change[];
  readonly isTooLarge: boolean;
}

/** `users/ada/orders/7` belongs to the group `orders`. */
export function groupOf(path: string): string {
  const last = path.lastIndexOf('/');
  return path.slice(path.lastIndexOf('/', last - 1) + 1, last);
}

/** Names-only, through broken streams, ascending. */
async function* scanGroup(client: FirestoreClient, group: string, options: ReadOptions): AsyncGenerator<RecordBatch> {
  const builder = new DocumentBatchBuilder();
  const requestAfter = (afterName: string | undefined) => ({
    parent: client.root,
    structuredQuery: {
      from: [{ collectionId: group, allDescendants: true }],
      orderBy: [{ field: { fieldPath: '__name__' }, direction: 'ASCENDING' }],
      select: { fields: [{ fieldPath: '__name__' }] },
      ...(afterName === undefined ? {} : { startAt: { values: [{ referenceValue: afterName }], before: false } }),
    },
    readTime: timestampMessage(options.readTime),
  });
  yield* runQuery(client, builder, { requestAfter, limit: undefined, signal: options.signal });
  const rest = builder.take();
  if (rest !== undefined) yield rest;
}

/** For groups that are known to be small. */
export async function namesOfGroup(
  client: FirestoreClient,
  group: string,
  options: ReadOptions,
): Promise<NameAndTime[]> {
  const names: NameAndTime[] = [];
  for await (const batch of scanGroup(client, group, options)) names.push(...namesOf(batch));
  return names;
}

export interface GroupDifferenceRequest extends ReadOptions {
  readonly group: string;
  readonly since: Instant;
  /** Names at `since`, of all groups. */
  readonly known: AsyncIterable<RecordBatch>;
  /** Paths reported as existing; missing ones become deletes too. */
  readonly heard: Iterable<string>;
  readonly isInScope: (path: string) => boolean;
}

/** The changes of a group after `since` up to `readTime`, from its names then and the names known at `since`. */
export async function differenceOfGroup(
  client: FirestoreClient,
  { group, since, known, heard, isInScope, ...options }: GroupDifferenceRequest,
): Promise<GroupDifference> {
  const unseen = new Set(heard);
  const changed: string[] = [];
  const gone: string[] = [];
  const before = pathsOfGroup(known, group);
  let next = await before.next();
  const passUntil = async (path: string | undefined): Promise<void> => {
    while (!next.done && (path === undefined || comparePaths(next.value, path) < 0)) {
      if (gone.length <= differencesMax) gone.push(next.value);
      next = await before.next();
    }
  };
  try {
    for await (const batch of scanGroup(client, group, options)) {
      for (const { path, at } of namesOf(batch)) {
        if (!isInScope(path)) continue;
        await passUntil(path);
        unseen.delete(path);
        const wasKnown = !next.done && next.value === path;
        if (wasKnown) next = await before.next();
        if ((at > since || !wasKnown) && changed.length <= differencesMax) changed.push(path);
      }
    }
    await passUntil(undefined);
  } finally {
    await before.return?.(undefined);
  }
  if (changed.length + gone.length > differencesMax) return { changes: [], isTooLarge: true };
  const changes = await changesOf(client, changed, options);
  for (const path of new Set([...gone, ...unseen])) changes.push(deleteChange(client.name(path), options.readTime));
  return { changes, isTooLarge: false };
}

async function* pathsOfGroup(known: AsyncIterable<RecordBatch>, group: string): AsyncGenerator<string, void> {
  for await (const batch of known) for (const path of eachPath(batch)) if (groupOf(path) === group) yield path;
}

/** The named documents at an instant as changes: puts for those that exist, deletes for those that do not. */
export async function changesOf(
  client: FirestoreClient,
  paths: readonly string[],
  options: ReadOptions,
): Promise<Change[]> {
  const changes: Change[] = [];
  for await (const batch of fetchDocuments(client, paths, options)) {
    forEachRecord(batch, (bytes, { kind, bodyStart, end }) => {
      const body = Buffer.from(bytes.subarray(bodyStart, end));
      if (kind === recordKind.put) changes.push(putChange(body));
      else changes.push(deleteChange(nameOfDocument(body, 0, body.length), options.readTime));
    });
  }
  return changes;
}

export function namesOf(batch: RecordBatch): NameAndTime[] {
  const names: NameAndTime[] = [];
  const outline = emptyOutline();
  forEachRecord(batch, (bytes, { bodyStart, end }) => {
    outlineDocument(bytes, bodyStart, end, outline);
    const path = pathOfName(nameOfDocument(bytes, bodyStart, end));
    names.push({ path, at: instantFromParts(outline.updateSeconds, outline.updateNanos) });
  });
  return names;
}

/** Known names of a group that the test reports as missing, to be read one by one. */
export async function knownPathsWhere(
  known: AsyncIterable<RecordBatch>,
  group: string,
  isSuspect: (path: string) => boolean,
): Promise<string[]> {
  const suspects: string[] = [];
  for await (const path of pathsOfGroup(known, group)) {
    if (!isSuspect(path)) continue;
    suspects.push(path);
    if (suspects.length > differencesMax) break;
  }
  return suspects;
}
