import type { BlobInfo, BlobStore, CallOptions } from '../ports/blob-store.ts';
import { EngineError, throwIfCancelled } from '../ports/errors.ts';
import { readLogPieces, readLogRecords } from './leveldb-log.ts';

export interface ExportLimits {
  readonly files: number;
  /** Of the files that say what an export is made of; those of the largest exports have some MiB. */
  readonly metadataBytes: number;
}

const limitsDefault: ExportLimits = { files: 100_000, metadataBytes: 64 * 1024 * 1024 };

/** The files of a managed export folder. */
export interface ManagedExport {
  readonly folder: string;
  readonly outputs: readonly BlobInfo[];
}

/**
 * Finds an export below a path: its folder, or its `.overall_export_metadata` file. An export that did not finish has no
 * such file and is refused; so is one whose own metadata names output files that are not there.
 */
export async function findManagedExport(
  store: BlobStore,
  path: string,
  options: CallOptions = {},
  limits = limitsDefault,
): Promise<ManagedExport> {
  const folder = path.endsWith('.overall_export_metadata')
    ? path.slice(0, path.lastIndexOf('/') + 1)
    : `${path.replace(/\/+$/, '')}/`;
  const outputs: BlobInfo[] = [];
  const metadata: BlobInfo[] = [];
  const overall: BlobInfo[] = [];
  let files = 0;
  for await (const info of store.list(folder === '/' ? '' : folder, options)) {
    if (++files > limits.files) throw tooLarge(path, `more than ${limits.files} files`);
    if (/(^|\/)output-\d+$/.test(info.key)) outputs.push(info);
    else if (info.key.endsWith('.overall_export_metadata')) overall.push(info);
    else if (info.key.endsWith('.export_metadata')) metadata.push(info);
  }
  if (overall.length === 0)
    throw new EngineError(
      'VALIDATION_ERROR',
      `There is no finished export at ${path}: its overall metadata is missing.`,
    );
  const metadataBytes = [...overall, ...metadata].reduce((sum, { size }) => sum + size, 0);
  if (metadataBytes > limits.metadataBytes) throw tooLarge(path, `${metadataBytes} bytes of metadata`);
  for (const info of overall) await assertWhole(store, info, options);
  if (metadata.length === 0)
    throw new EngineError('INTEGRITY_ERROR', `The export at ${path} has no metadata of its files.`);
  const named = new Set<string>();
  for (const info of metadata) {
    for await (const name of namedOutputs(store, info, options)) {
      named.add(name);
      if (named.size > limits.files) throw tooLarge(path, `more than ${limits.files} files`);
    }
  }
  assertPresent(named, outputs);
  if (named.size === 0) assertNumbered(outputs);
  return { folder, outputs };
}

function tooLarge(path: string, reason: string): EngineError {
  return new EngineError('VALIDATION_ERROR', `The export at ${path} has ${reason}.`, { details: { isTooLarge: true } });
}

/** A file of that name is not enough: it must be a log, and hold something. */
async function assertWhole(store: BlobStore, { key, size }: BlobInfo, options: CallOptions): Promise<void> {
  let records = 0;
  for await (const record of readLogRecords(store, key, size, options)) if (record.length > 0) records++;
  if (records === 0) throw new EngineError('INTEGRITY_ERROR', `The export file ${key} is empty.`);
}

/** The output files that the metadata names. */
async function* namedOutputs(store: BlobStore, { key, size }: BlobInfo, options: CallOptions): AsyncGenerator<string> {
  const folder = key.slice(0, key.lastIndexOf('/') + 1);
  for await (const record of readLogRecords(store, key, size, options))
    for (const [name] of Buffer.from(record)
      .toString('latin1')
      .matchAll(/output-\d{1,20}/g))
      yield `${folder}${name}`;
}

/** Each of them must be there. */
function assertPresent(named: ReadonlySet<string>, outputs: readonly BlobInfo[]): void {
  const present = new Set(outputs.map(({ key }) => key));
  const missing = [...named].filter((key) => !present.has(key)).map((key) => key.slice(key.lastIndexOf('/') + 1));
  if (missing.length > 0)
    throw new EngineError('INTEGRITY_ERROR', `The export misses ${missing.slice(0, 5).join(', ')}.`);
}

/** Where nobody says which there are, they are numbered from 0 on in each folder. */
function assertNumbered(outputs: readonly BlobInfo[]): void {
  const present = new Set(outputs.map(({ key }) => key));
  for (const { key } of outputs) {
    const [, stem, number] = /^(.*output-)(\d+)$/s.exec(key)!;
    const before = `${stem}${Number(number) - 1}`;
    if (Number(number) > 0 && !present.has(before))
      throw new EngineError('INTEGRITY_ERROR', `The export misses ${before.slice(before.lastIndexOf('/') + 1)}.`);
  }
}

/** Some blocks of one of the export's files, and whether they are its last. */
export interface LogPiece {
  readonly key: string;
  readonly bytes: Uint8Array;
  readonly isLast: boolean;
}

/** The files of the export, some blocks at a time: what they hold is put together on another thread. */
export async function* readExportPieces(
  store: BlobStore,
  { outputs }: ManagedExport,
  options: CallOptions = {},
): AsyncGenerator<LogPiece> {
  for (const { key, size } of outputs) {
    let read = 0;
    for await (const bytes of readLogPieces(store, key, size, options)) {
      throwIfCancelled(options.signal);
      read += bytes.length;
      yield { key, bytes, isLast: read >= size };
    }
  }
}
