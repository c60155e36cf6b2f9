import { type SortOptions, sortRecords, type UnsortedRecord } from '../pipeline/view/sorted-runs.ts';
import { View } from '../pipeline/view/view.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import { findManagedExport, readManagedExport } from './managed-export.ts';
import { readVersion1Json } from './version1-json.ts';

export type ForeignFormat = 'firestore-export' | 'json';

export interface ForeignViewOptions extends SortOptions {
  readonly store: BlobStore;
  /** The export's folder, or the file. */
  readonly path: string;
  readonly format: ForeignFormat;
}

/** A foreign file as a view like any other. It is read to its end first: a broken one is an error, never half a view. */
export async function openForeignView(options: ForeignViewOptions): Promise<View> {
  return new View(options.database, await sortRecords(await recordsOf(options), options));
}

async function recordsOf({
  store,
  path,
  format,
  database,
  signal,
}: ForeignViewOptions): Promise<AsyncIterable<UnsortedRecord>> {
  const call = signal ? { signal } : {};
  if (format === 'json') return readVersion1Json(store, path, database, call);
  return readManagedExport(store, await findManagedExport(store, path, call), database, call);
}
