import type { Database } from '../firestore/store/database.ts';
import type { DocumentEntry } from '../firestore/store/document.ts';
import { keyFromPath } from '../firestore/values/key.ts';
import { documentsRoot } from '../firestore/values/name.ts';
import { type SampleOptions, sampleDocuments } from './generate.ts';

/**
 * Simulates a bad script: a whole collection of the sample is deleted at once. Returns how many documents that were.
 */
export function deleteCollection(database: Database, collection: string, sample: SampleOptions): number {
  const time = database.nextCommitTime();
  const lost: DocumentEntry[] = [];
  for (const { path } of sampleDocuments(documentsRoot(database.name), sample)) {
    if (!path.startsWith(`${collection}/`)) continue;
    const entry = database.remove(keyFromPath(path), time);
    if (entry) lost.push(entry);
  }
  database.committed(lost, time);
  return lost.length;
}
