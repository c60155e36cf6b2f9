import { type SortOptions, sortRecords, type UnsortedRecord } from '../pipeline/view/sorted-runs.ts';
import { View } from '../pipeline/view/view.ts';
import type { BlobStore, CallOptions } from '../ports/blob-store.ts';
import { EngineError } from '../ports/errors.ts';
import { findManagedExport, readExportPieces } from './managed-export.ts';
import { readInThread } from './reading-thread.ts';

export type ForeignFormat = 'firestore-export' | 'json';

const pieceBytes = 1024 * 1024;
/** Version 1 read its file in one piece; it never wrote larger ones. */
const fileBytesMax = 1024 * 1024 * 1024;

export interface ForeignViewOptions extends SortOptions {
  readonly store: BlobStore;
  /** The export's folder, or the file. */
  readonly path: string;
  readonly format: ForeignFormat;
  /** What is strange about the file and may be right all the same. */
  readonly onWarning?: (text: string) => void;
}

/** A foreign file as a view like any other. It is read to its end first: a broken one is an error, never half a view. */
export async function openForeignView(options: ForeignViewOptions): Promise<View> {
  const { database, path, signal } = options;
  let given = 0;
  const counted = async function* () {
    for await (const record of await recordsOf(options)) {
      given += 1;
      yield record;
    }
  };
  const view = new View(database, await sortRecords(counted(), options));
  if (given === 0) throw new EngineError('VALIDATION_ERROR', `${path} is refused: there is no document in it.`);
  if ((await countOf(view, signal)) !== given)
    throw new EngineError('VALIDATION_ERROR', `${path} is refused: a document stands in it twice.`);
  return view;
}

async function countOf(view: View, signal: AbortSignal | undefined): Promise<number> {
  let count = 0;
  for await (const page of view.entries({}, signal ? { signal } : {})) count += page.length;
  return count;
}

async function recordsOf(options: ForeignViewOptions): Promise<AsyncIterable<UnsortedRecord>> {
  const { store, path, format, database, signal } = options;
  const call = signal ? { signal } : {};
  const pieces =
    format === 'json' ? readPieces(store, path, call) : readExportPieces(store, await foundExport(options, call), call);
  return readInThread({ format, key: path, database }, pieces, signal);
}

async function foundExport({ store, path, onWarning }: ForeignViewOptions, call: CallOptions) {
  const found = await findManagedExport(store, path, call);
  for (const { key, size } of found.outputs) if (size === 0) onWarning?.(`The export file ${key} is empty.`);
  return found;
}

async function* readPieces(store: BlobStore, key: string, options: CallOptions): AsyncGenerator<Uint8Array> {
  const info = await store.head(key, options);
  if (!info) throw new EngineError('STORAGE_NOT_FOUND', `There is no file ${key}.`);
  if (info.size > fileBytesMax)
    throw new EngineError('VALIDATION_ERROR', `${key} has more than ${fileBytesMax} bytes.`);
  for (let offset = 0; offset < info.size; offset += pieceBytes)
    yield await store.getRange(key, offset, Math.min(pieceBytes, info.size - offset), options);
}
