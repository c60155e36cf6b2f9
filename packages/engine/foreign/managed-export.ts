import { encodeDocument } from '../format/document-json.ts';
import type { UnsortedRecord } from '../pipeline/view/sorted-runs.ts';
import type { BlobInfo, BlobStore, CallOptions } from '../ports/blob-store.ts';
import { EngineError, throwIfCancelled } from '../ports/errors.ts';
import { recordKind } from '../ports/record.ts';
import { decodeEntity } from './entity.ts';
import { readLogRecords } from './leveldb-log.ts';

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
): Promise<ManagedExport> {
  const folder = path.endsWith('.overall_export_metadata')
    ? path.slice(0, path.lastIndexOf('/') + 1)
    : `${path.replace(/\/+$/, '')}/`;
  const outputs: BlobInfo[] = [];
  const metadata: BlobInfo[] = [];
  const overall: BlobInfo[] = [];
  for await (const info of store.list(folder === '/' ? '' : folder, options)) {
    if (/(^|\/)output-\d+$/.test(info.key)) outputs.push(info);
    else if (info.key.endsWith('.overall_export_metadata')) overall.push(info);
    else if (info.key.endsWith('.export_metadata')) metadata.push(info);
  }
  if (overall.length === 0)
    throw new EngineError(
      'VALIDATION_ERROR',
      `There is no finished export at ${path}: its overall metadata is missing.`,
    );
  for (const info of overall) await assertWhole(store, info, options);
  if (metadata.length === 0)
    throw new EngineError('INTEGRITY_ERROR', `The export at ${path} has no metadata of its files.`);
  for (const info of metadata) await assertOutputs(store, info, outputs, options);
  return { folder, outputs };
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

/** The export's documents under the names of `database`, in the order of the files. Exports carry no times. */
export async function* readManagedExport(
  store: BlobStore,
  { outputs }: ManagedExport,
  database: string,
  options: CallOptions = {},
): AsyncGenerator<UnsortedRecord> {
  for (const { key, size } of outputs) {
    throwIfCancelled(options.signal);
    for await (const record of readLogRecords(store, key, size, options)) {
      const { path, fields } = decodeEntity(record, database);
      yield { kind: recordKind.put, path, body: encodeDocument({ name: `${database}/documents/${path}`, fields }) };
    }
  }
}
