import { freeBytes } from '../memory/free-bytes.ts';
import type { BlobInfo, BlobStore, CallOptions } from '../ports/blob-store.ts';
import { EngineError, throwIfCancelled } from '../ports/errors.ts';
import { type ExportPart, metadataSuffix, readOutputNames, readParts } from './export-metadata.ts';
import { readLogPieces } from './leveldb-log.ts';

export interface ExportLimits {
  readonly files: number;
  /** The size limit of metadata files; those of the largest exports have some MiB. */
  readonly metadataBytes: number;
}

const overallSuffix = '.overall_export_metadata';
const limitsDefault: ExportLimits = { files: 100_000, metadataBytes: 64 * 1024 * 1024 };

/** The files of a managed export folder. */
export interface ManagedExport {
  readonly folder: string;
  readonly outputs: readonly BlobInfo[];
  /** How many documents the export says it has; undefined when it does not. */
  readonly documents: number | undefined;
}

interface Listed {
  readonly overall: BlobInfo[];
  readonly metadata: BlobInfo[];
  readonly outputs: BlobInfo[];
}

/**
 * Finds an export at a path: its folder, or its `.overall_export_metadata` file. An unfinished export has no such file
 * and is refused. So is an export with a missing or an extra file.
 */
export async function findManagedExport(
  store: BlobStore,
  path: string,
  options: CallOptions = {},
  limits = limitsDefault,
): Promise<ManagedExport> {
  const listed = await listExport(store, path, options, limits);
  const overall = theOverall(path, listed.overall);
  const folder = overall.key.slice(0, overall.key.lastIndexOf('/') + 1);
  const parts = await readParts(store, overall, options);
  const metadata = parts.length === 0 ? below(folder, listed.metadata) : namedBy(parts, listed.metadata);
  if (metadata.length === 0)
    throw new EngineError('INTEGRITY_ERROR', `The export at ${path} has no metadata of its files.`);
  const named = new Set<string>();
  for (const info of metadata) {
    for await (const name of readOutputNames(store, info, options)) {
      named.add(name);
      if (named.size > limits.files) throw tooLarge(path, `more than ${limits.files} files`);
    }
  }
  const outputs = below(folder, listed.outputs);
  if (named.size === 0) assertNumbered(outputs);
  else assertSame(named, outputs);
  return { folder, outputs, documents: documentsOf(parts) };
}

async function listExport(store: BlobStore, path: string, options: CallOptions, limits: ExportLimits): Promise<Listed> {
  const folder = path.endsWith(overallSuffix)
    ? path.slice(0, path.lastIndexOf('/') + 1)
    : `${path.replace(/\/+$/, '')}/`;
  const listed: Listed = { overall: [], metadata: [], outputs: [] };
  let files = 0;
  for await (const info of store.list(folder === '/' ? '' : folder, options)) {
    if (++files > limits.files) throw tooLarge(path, `more than ${limits.files} files`);
    if (/(^|\/)output-\d+$/.test(info.key)) listed.outputs.push(info);
    else if (info.key.endsWith(overallSuffix)) listed.overall.push(info);
    else if (info.key.endsWith(metadataSuffix)) listed.metadata.push(info);
  }
  const metadataBytes = [...listed.overall, ...listed.metadata].reduce((sum, { size }) => sum + size, 0);
  if (metadataBytes > limits.metadataBytes) throw tooLarge(path, `${metadataBytes} bytes of metadata`);
  return listed;
}

/** The named one, or the only one. With several, nobody knows which one was meant. */
function theOverall(path: string, overall: readonly BlobInfo[]): BlobInfo {
  const named = path.endsWith(overallSuffix) ? overall.filter(({ key }) => key === path) : overall;
  const [only, other] = named;
  if (only === undefined)
    throw new EngineError(
      'VALIDATION_ERROR',
      `There is no finished export at ${path}: its overall metadata is missing.`,
    );
  if (other === undefined) return only;
  throw new EngineError(
    'VALIDATION_ERROR',
    `There are several exports at ${path}. Name one of them: ${only.key} or ${other.key}.`,
  );
}

function tooLarge(path: string, reason: string): EngineError {
  return new EngineError('VALIDATION_ERROR', `The export at ${path} has ${reason}.`, { details: { isTooLarge: true } });
}

function below(folder: string, files: readonly BlobInfo[]): BlobInfo[] {
  return files.filter(({ key }) => key.startsWith(folder));
}

/** The metadata of each part, which must be there. */
function namedBy(parts: readonly ExportPart[], metadata: readonly BlobInfo[]): BlobInfo[] {
  const present = new Map(metadata.map((info) => [info.key, info]));
  assertPresent(new Set(parts.map(({ metadataKey }) => metadataKey)), metadata);
  return parts.map(({ metadataKey }) => present.get(metadataKey)!);
}

function documentsOf(parts: readonly ExportPart[]): number | undefined {
  if (parts.length === 0 || parts.some(({ documents }) => documents === undefined)) return undefined;
  return parts.reduce((sum, { documents }) => sum + documents!, 0);
}

/** Throws unless exactly the named files are there: another file would belong to another export. */
function assertSame(named: ReadonlySet<string>, outputs: readonly BlobInfo[]): void {
  assertPresent(named, outputs);
  const other = outputs.find(({ key }) => !named.has(key));
  if (other !== undefined)
    throw new EngineError('INTEGRITY_ERROR', `The export does not name its file ${other.key}: it is of another one.`);
}

function assertPresent(named: ReadonlySet<string>, files: readonly BlobInfo[]): void {
  const present = new Set(files.map(({ key }) => key));
  const missing = [...named].filter((key) => !present.has(key)).map((key) => key.slice(key.lastIndexOf('/') + 1));
  if (missing.length > 0)
    throw new EngineError('INTEGRITY_ERROR', `The export misses ${missing.slice(0, 5).join(', ')}.`);
}

/** When nothing names the files, they must be numbered from 0 in each folder. */
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

/** Yields the files of the export, some blocks at a time; another thread assembles the records. */
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
      freeBytes(bytes);
    }
  }
}
