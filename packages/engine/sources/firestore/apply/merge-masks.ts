/**
 * Which fields a merge writes. Maps need a look at what is there: an empty one must not wipe a map that has content, and one
 * that meets a vector replaces it, where single fields would be written into the vector.
 */

import { type MergeMode, pathOfName, type RecordBatch, recordKind } from '../../../ports/index.ts';
import type { FirestoreClient } from '../client.ts';
import { snapshotTime } from '../database-info.ts';
import { nameOfDocument } from '../scan/document-batch-builder.ts';
import { fetchDocuments } from '../scan/fetch.ts';
import { forEachRecord } from '../scan/records.ts';
import { emptySlices, sliceDocument } from './document-slices.ts';
import { formatFieldPath, leavesOf, type Shape, shapeOf } from './field-paths.ts';
import { encodeMask } from './write-batch.ts';

/** Serialized fields of existing documents by path, for those records of a batch that bring maps. */
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
    if (leavesOf(content).some(({ isEmptyMap, segments }) => isEmptyMap || segments.length > 1)) {
      paths.push(bytes.toString('utf8', slices.pathStart, slices.pathEnd));
    }
  });
  return paths;
}

/** A mask of all leaves, without empty maps where a map is already, and of whole maps where a vector is. */
export function mergeMask(content: Buffer, existing: Buffer | undefined): Buffer {
  const there = existing === undefined ? nothing : shapeOf(existing);
  const leaves = leavesOf(content).filter(
    ({ isEmptyMap, segments }) => !(isEmptyMap && there.maps.has(formatFieldPath(segments))),
  );
  const vectors = vectorsOf(there);
  return encodeMask([...new Set(leaves.map(({ segments }) => replacedPath(segments, vectors)))]);
}

const nothing: Shape = { leaves: [], maps: new Set() };

function vectorsOf({ leaves }: Shape): ReadonlySet<string> {
  return new Set(leaves.filter(({ isVector }) => isVector).map(({ segments }) => formatFieldPath(segments)));
}

/** The path of the leaf, or of the map around it that takes the place of a vector. */
function replacedPath(segments: readonly string[], vectors: ReadonlySet<string>): string {
  for (let depth = 1; vectors.size > 0 && depth < segments.length; depth += 1) {
    const path = formatFieldPath(segments.slice(0, depth));
    if (vectors.has(path)) return path;
  }
  return formatFieldPath(segments);
}
