import type { BlobInfo, BlobStore, CallOptions } from '../ports/blob-store.ts';
import { EngineError, throwIfCancelled } from '../ports/errors.ts';
import { readLogRecords } from './leveldb-log.ts';

const batchBytes = 1024 * 1024;
const batchRecordsMax = 10_000;
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
  for (const info of metadata) await assertOutputs(store, info, outputs, options);
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

/** The metadata names its output files; each of them must be there. */
async function assertOutputs(
  store: BlobStore,
  metadata: BlobInfo,
  outputs: readonly BlobInfo[],
  options: CallOptions,
): Promise<void> {
  const folder = metadata.key.slice(0, metadata.key.lastIndexOf('/') + 1);
  const present = new Set(outputs.map(({ key }) => key));
  const named = new Set<string>();
  for await (const record of readLogRecords(store, metadata.key, metadata.size, options)) {
    for (const [name] of Buffer.from(record)
      .toString('latin1')
      .matchAll(/output-\d+/g))
      named.add(name);
  }
  const missing = [...named].filter((name) => !present.has(`${folder}${name}`));
  if (missing.length > 0)
    throw new EngineError('INTEGRITY_ERROR', `The export misses ${missing.slice(0, 5).join(', ')}.`);
}

/** The records of the export's files, a few at a time. */
export async function* readExportRecords(
  store: BlobStore,
  { outputs }: ManagedExport,
  options: CallOptions = {},
): AsyncGenerator<Uint8Array[]> {
  let batch: Uint8Array[] = [];
  let bytes = 0;
  for (const { key, size } of outputs)
    for await (const record of readLogRecords(store, key, size, options)) {
      throwIfCancelled(options.signal);
      batch.push(record);
      bytes += record.length;
      if (bytes < batchBytes && batch.length < batchRecordsMax) continue;
      yield batch;
      batch = [];
      bytes = 0;
    }
  if (batch.length > 0) yield batch;
}
