import { Random } from '../firestore/faults/random.ts';
import type { Database } from '../firestore/store/database.ts';
import type { DocumentEntry } from '../firestore/store/document.ts';
import { keyFromPath } from '../firestore/values/key.ts';
import { documentsRoot } from '../firestore/values/name.ts';
import { chatDocuments } from './chat.ts';
import { edgeCases } from './edge-cases.ts';
import type { SampleDocument } from './sample-document.ts';
import { shopDocuments } from './shop.ts';

export interface SampleOptions {
  /** How many documents in all. */
  readonly documents: number;
  readonly seed?: number;
  /** Also the documents with odd ids, extreme values and missing parents (true). They count towards `documents`. */
  readonly edgeCases?: boolean;
}

const loadBatch = 5000;

/**
 * A sample database as a stream, the same for the same seed: first the edge cases, then shop and chat documents in
 * turns until there are enough. Uses memory for a handful of documents, whatever the size.
 */
export function* sampleDocuments(root: string, options: SampleOptions): Generator<SampleDocument, void, undefined> {
  const random = new Random(options.seed ?? 1);
  let left = options.documents;
  for (const document of sources(root, random, options.edgeCases ?? true)) {
    if (left-- <= 0) return;
    yield document;
  }
}

function* sources(root: string, random: Random, withEdgeCases: boolean): Generator<SampleDocument, void, undefined> {
  if (withEdgeCases) yield* edgeCases(root);
  for (let round = 0; ; round++) {
    yield* shopDocuments(root, random, round);
    yield* chatDocuments(root, random, round);
  }
}

/** Loads a sample straight into a database of the sandbox. */
export function loadSample(database: Database, options: SampleOptions): void {
  const root = documentsRoot(database.name);
  const time = database.nextCommitTime();
  let changed: DocumentEntry[] = [];
  for (const { path, fields } of sampleDocuments(root, options)) {
    changed.push(database.put(keyFromPath(path), Buffer.from(`${root}/${path}`), fields, time, time));
    if (changed.length < loadBatch) continue;
    database.committed(changed, time);
    changed = [];
  }
  database.committed(changed, time);
}
