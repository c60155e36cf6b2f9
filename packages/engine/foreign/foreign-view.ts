import { freeBytes } from '../memory/free-bytes.ts';
import { type SortOptions, sortRecords, type UnsortedRecord } from '../pipeline/view/sorted-runs.ts';
import { View } from '../pipeline/view/view.ts';
import type { BlobStore, CallOptions } from '../ports/blob-store.ts';
import { EngineError } from '../ports/errors.ts';
import { comparePaths } from '../ports/path-order.ts';
import { findManagedExport, readExportPieces } from './managed-export.ts';
import { readInThread } from './reading-thread.ts';

export type ForeignFormat = 'firestore-export' | 'json' | 'ndjson';

const pieceBytes = 1024 * 1024;
/** Small, because several files are sorted at once, and nobody waits for them. */
const runBytes = 8 * 1024 * 1024;
/** Version 1 read its file as a whole and never wrote larger ones. */
const fileBytesMax = 1024 * 1024 * 1024;

export interface ForeignViewOptions extends SortOptions {
  readonly store: BlobStore;
  /** The export's folder, or the file. */
  readonly path: string;
  readonly format: ForeignFormat;
  /** Called with what is unusual about the file but may be correct. */
  readonly onWarning?: (text: string) => void;
}

/** A foreign file as a view. The whole file is read first: a broken file is an error and never a partial view. */
export async function openForeignView(options: ForeignViewOptions): Promise<View> {
  const { database, path, signal } = options;
  let given = 0;
  const { records, expected } = await recordsOf(options);
  const count = function* (group: Iterable<UnsortedRecord>) {
    for (const record of group) {
      given += 1;
      yield record;
    }
  };
  const counted = async function* () {
    for await (const group of records) yield count(group);
  };
  const onRepeated = (document: string) => {
    throw repeated(path, `the document ${document}`);
  };
  const layers = await sortRecords(counted(), { runBytes, ...options, onRepeated });
  const view = new View(database, layers);
  requireExpected(options, given, expected);
  if (given === 0) throw new EngineError('VALIDATION_ERROR', `${path} is refused: there is no document in it.`);
  if ((await view.count(signal ? { signal } : {})) === given) return view;
  const views = layers.map((layer) => new View(database, [layer]));
  const document = await commonPath(views, signal);
  throw repeated(path, document === undefined ? 'a document' : `the document ${document}`);
}

/** Compares with the number that the export names: a log that was cut off looks complete. */
function requireExpected({ path, format, onWarning }: ForeignViewOptions, given: number, expected: number | undefined) {
  if (format !== 'firestore-export' || given === expected) return;
  if (expected === undefined) onWarning?.(`The export at ${path} does not say how many documents it holds.`);
  else if (given < expected)
    throw new EngineError(
      'INTEGRITY_ERROR',
      `The export at ${path} holds ${given} documents and says that it has ${expected}: its files are cut short.`,
    );
  else onWarning?.(`The export at ${path} holds ${given} documents and says that it has ${expected}.`);
}

function repeated(path: string, what: string): EngineError {
  return new EngineError('VALIDATION_ERROR', `${path} is refused: ${what} stands in it twice.`);
}

async function* pathsOf(view: View, signal: AbortSignal | undefined): AsyncGenerator<string> {
  for await (const page of view.entries({}, signal ? { signal } : {})) for (const { path } of page) yield path;
}

/** The first path that is in two of the views; each is in ascending order. */
async function commonPath(views: readonly View[], signal: AbortSignal | undefined): Promise<string | undefined> {
  const walks = views.map((view) => pathsOf(view, signal));
  const heads = await Promise.all(walks.map(async (walk) => ({ walk, next: await walk.next() })));
  for (;;) {
    const [first, second] = heads
      .filter(({ next }) => !next.done)
      .sort((left, right) => comparePaths(left.next.value as string, right.next.value as string));
    if (first === undefined || second === undefined) return undefined;
    if (first.next.value === second.next.value) return first.next.value as string;
    first.next = await first.walk.next();
  }
}

interface ForeignRecords {
  readonly records: AsyncIterable<Iterable<UnsortedRecord>>;
  /** The expected number; undefined when nothing says it. */
  readonly expected: number | undefined;
}

async function recordsOf(options: ForeignViewOptions): Promise<ForeignRecords> {
  const { store, path, format, database, signal } = options;
  const call = signal ? { signal } : {};
  const found = format === 'firestore-export' ? await foundExport(options, call) : undefined;
  const pieces = found ? readExportPieces(store, found, call) : readPieces(options, call);
  return { records: readInThread({ format, key: path, database }, pieces, options), expected: found?.documents };
}

async function foundExport({ store, path, onWarning }: ForeignViewOptions, call: CallOptions) {
  const found = await findManagedExport(store, path, call);
  for (const { key, size } of found.outputs) if (size === 0) onWarning?.(`The export file ${key} is empty.`);
  return found;
}

async function* readPieces(
  { store, path: key, format }: ForeignViewOptions,
  options: CallOptions,
): AsyncGenerator<Uint8Array> {
  const info = await store.head(key, options);
  if (!info) throw new EngineError('STORAGE_NOT_FOUND', `There is no file ${key}.`);
  if (format === 'json' && info.size > fileBytesMax)
    throw new EngineError('VALIDATION_ERROR', `${key} has more than ${fileBytesMax} bytes.`);
  for (let offset = 0; offset < info.size; offset += pieceBytes) {
    const piece = await store.getRange(key, offset, Math.min(pieceBytes, info.size - offset), options);
    yield piece;
    freeBytes(piece);
  }
}
