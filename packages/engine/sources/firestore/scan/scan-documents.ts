/** Scans named documents as if the database held no others. */

import {
  comparePaths,
  type PathRange,
  type RecordBatch,
  rangeContains,
  recordKind,
  type ScanOptions,
} from '../../../ports/index.ts';
import type { FirestoreClient } from '../client.ts';
import { batchBytesTarget, DocumentBatchBuilder } from './document-batch-builder.ts';
import { fetchDocuments } from './fetch.ts';
import { forEachRecord } from './records.ts';

/** The named documents that exist, ascending by path, each once, whatever their given order. */
export async function* scanDocuments(
  client: FirestoreClient,
  documents: readonly string[],
  range: PathRange,
  { after, readTime, signal }: ScanOptions,
): AsyncGenerator<RecordBatch> {
  const paths = [...new Set(documents)]
    .filter((path) => rangeContains(range, path) && (after === undefined || comparePaths(path, after) > 0))
    .sort(comparePaths);
  const builder = new DocumentBatchBuilder(batchBytesTarget);
  for await (const batch of fetchDocuments(client, paths, { readTime, ...(signal ? { signal } : {}) })) {
    // A fetch returns missing documents as deletes.
    const found: [Buffer, number, number][] = [];
    forEachRecord(batch, (bytes, { kind, bodyStart, end }) => {
      if (kind === recordKind.put) found.push([bytes, bodyStart, end]);
    });
    for (const [bytes, start, end] of found) {
      if (builder.isFullFor(end - start)) yield builder.take()!;
      builder.append(recordKind.put, bytes, start, end);
    }
  }
  const rest = builder.take();
  if (rest !== undefined) yield rest;
}
