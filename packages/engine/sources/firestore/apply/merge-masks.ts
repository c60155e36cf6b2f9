/** Which fields a merge writes. Empty maps need a look at what is there: they must not wipe a map that has content. */

import { type MergeMode, pathOfName, type RecordBatch, recordKind } from '../../../ports/index.ts';
import type { FirestoreClient } from '../client.ts';
import { snapshotTime } from '../database-info.ts';
import { nameOfDocument } from '../scan/document-batch-builder.ts';
import { fetchDocuments } from '../scan/fetch.ts';
import { forEachRecord } from '../scan/records.ts';
import { emptySlices, sliceDocument } from './document-slices.ts';
import { formatFieldPath, hasMapAt, leavesOf } from './field-paths.ts';
import { encodeMask } from './write-batch.ts';

/** Serialized fields of existing documents by path, for those records of a batch that bring empty maps. */
export type ExistingFields = ReadonlyMap<string, Buffer>;

export async function existingFieldsFor(
  client: FirestoreClient,
  batch: RecordBatch,
  mode: MergeMode,
  signal: AbortSignal,
): Promise<ExistingFields> {
  const existing = new Map<string, Buffer>();
  if (mode !== 'merge') return existing;
  const paths = pathsWithEmptyMaps(batch);
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

function pathsWithEmptyMaps(batch: RecordBatch): string[] {
  const paths: string[] = [];
  const slices = emptySlices();
  forEachRecord(batch, (bytes, { kind, bodyStart, end }) => {
    if (kind !== recordKind.put) return;
    sliceDocument(bytes, bodyStart, end, slices);
    const content = slices.joined ?? bytes.subarray(slices.contentStart, slices.contentEnd);
    if (leavesOf(content, 0, content.length).some((leaf) => leaf.isEmptyMap)) {
      paths.push(bytes.toString('utf8', slices.pathStart, slices.pathEnd));
    }
  });
  return paths;
}

/** A mask of all leaves, without empty maps where a map is already. */
export function mergeMask(content: Buffer, existing: Buffer | undefined): Buffer {
  const leaves = leavesOf(content, 0, content.length).filter(
    (leaf) => !(leaf.isEmptyMap && existing !== undefined && hasMapAt(existing, 0, existing.length, leaf.segments)),
  );
  return encodeMask(leaves.map((leaf) => formatFieldPath(leaf.segments)));
}
