/**
 * Which fields a merge writes. For maps it depends on the existing document: an empty map must not erase a map with
 * contents, and a map that meets a vector replaces it, because single fields would be written into the vector.
 */

import { type MergeMode, pathOfName, type RecordBatch, recordKind } from '../../../ports/index.ts';
import type { FirestoreClient } from '../client.ts';
import { snapshotTime } from '../database-info.ts';
import { nameOfDocument } from '../scan/document-batch-builder.ts';
import { fetchDocuments } from '../scan/fetch.ts';
import { forEachRecord } from '../scan/records.ts';
import { emptySlices, sliceDocument } from './document-slices.ts';
import { type Fields, fieldsOf, formatName } from './field-paths.ts';
import { encodeMask, requestBytesMax } from './write-batch.ts';

/** Serialized fields of existing documents by path, for those records of a batch that contain maps. */
export type ExistingFields = ReadonlyMap<string, Buffer>;

export async function existingFieldsFor(
  client: FirestoreClient,
  batch: RecordBatch,
  mode: MergeMode,
  signal: AbortSignal,
): Promise<ExistingFields> {
  const existing = new Map<string, Buffer>();
  if (mode !== 'merge') return existing;
  const paths = pathsWithMaps(batch);
  if (paths.length === 0) return existing;
  const readTime = await snapshotTime(client, { signal });
  for await (const found of fetchDocuments(client, paths, { readTime, signal })) {
    forEachRecord(found, (bytes, { kind, bodyStart, end }) => {
      if (kind !== recordKind.put) return;
      const slices = emptySlices();
      sliceDocument(bytes, bodyStart, end, slices);
      const path = pathOfName(nameOfDocument(bytes, bodyStart, end));
      existing.set(path, slices.joined ?? bytes.subarray(slices.contentStart, slices.contentEnd));
    });
  }
  return existing;
}

/** The serialized fields of a serialized Document. */
export function contentOf(document: Buffer): Buffer {
  const slices = emptySlices();
  sliceDocument(document, 0, document.length, slices);
  return slices.joined ?? document.subarray(slices.contentStart, slices.contentEnd);
}

function pathsWithMaps(batch: RecordBatch): string[] {
  const paths: string[] = [];
  const slices = emptySlices();
  forEachRecord(batch, (bytes, { kind, bodyStart, end }) => {
    if (kind !== recordKind.put) return;
    sliceDocument(bytes, bodyStart, end, slices);
    const content = slices.joined ?? bytes.subarray(slices.contentStart, slices.contentEnd);
    if ([...fieldsOf(content).values()].some((field) => field instanceof Map)) {
      paths.push(bytes.toString('utf8', slices.pathStart, slices.pathEnd));
    }
  });
  return paths;
}

/**
 * A mask of all leaves. It omits empty maps where a map exists, and names whole maps where a vector exists. If that is
 * too large for a request, maps that meet no map are named as a whole. If that is too large too, the mask is one that
 * no request can hold.
 */
export function mergeMask(content: Buffer, existing: Buffer | undefined): Buffer {
  const coming = fieldsOf(content);
  const there = existing === undefined ? undefined : fieldsOf(existing);
  const exact = encodeMask(writtenPaths(coming, there, { wholeMaps: false }), requestBytesMax);
  if (exact.length + content.length + nameBytesMax < requestBytesMax) return exact;
  return encodeMask(writtenPaths(coming, there, { wholeMaps: true }), requestBytesMax);
}

const nameBytesMax = 8 * 1024;

function* writtenPaths(
  coming: Fields,
  there: Fields | undefined,
  how: { readonly wholeMaps: boolean },
  above = '',
): Generator<string> {
  for (const [name, field] of coming) {
    const path = `${above}${formatName(name)}`;
    const old = there?.get(name);
    const isNew = !(old instanceof Map);
    if (!(field instanceof Map) || old === 'vector' || (isNew && (field.size === 0 || how.wholeMaps))) yield path;
    else yield* writtenPaths(field, isNew ? undefined : old, how, `${path}.`);
  }
}
