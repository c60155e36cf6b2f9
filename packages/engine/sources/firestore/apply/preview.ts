/** A dry run: which records would create, replace, merge, be skipped or delete. */

import { type ApplyOptions, type RecordBatch, recordKind } from '../../../ports/index.ts';
import type { FirestoreClient } from '../client.ts';
import { snapshotTime } from '../database-info.ts';
import { fetchDocuments } from '../fetch.ts';
import { eachPath, forEachRecord } from '../records.ts';

export interface Preview {
  create: number;
  replace: number;
  merge: number;
  skip: number;
  delete: number;
}

export async function previewApply(
  client: FirestoreClient,
  batches: AsyncIterable<RecordBatch>,
  options: Pick<ApplyOptions, 'mode' | 'signal'>,
): Promise<Preview> {
  const preview: Preview = { create: 0, replace: 0, merge: 0, skip: 0, delete: 0 };
  const onExisting = { overwrite: 'replace', skip_existing: 'skip', merge: 'merge' } as const;
  const readTime = await snapshotTime(client, options);
  for await (const batch of batches) {
    const wanted: number[] = [];
    forEachRecord(batch, (_, { kind }) => wanted.push(kind));
    let index = 0;
    const reads = { readTime, namesOnly: true, ...(options.signal ? { signal: options.signal } : {}) };
    for await (const found of fetchDocuments(client, eachPath(batch), reads)) {
      forEachRecord(found, (_, { kind }) => {
        const exists = kind === recordKind.put;
        const isPut = wanted[index++] === recordKind.put;
        if (isPut) preview[exists ? onExisting[options.mode] : 'create'] += 1;
        else if (exists) preview.delete += 1;
      });
    }
  }
  return preview;
}
