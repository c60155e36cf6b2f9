import {
  BackupReader,
  type BlobStore,
  createMemoryStore,
  EngineError,
  findManagedExport,
  isEngineError,
  isOwnerId,
  type KeyRing,
  openForeignView,
  type SegmentCodec,
} from '@holdfast/engine';
import { invalid } from '../../../platform/problem.ts';
import { PrefixedStore } from './prefixed-store.ts';

/** A manifest of ours: which backup it is of, and the folder in which its `backups/` lies. */
export interface Located {
  backupId: string;
  folder: string;
}

/** Files up to this size are read whole while the caller waits. */
const readAtOnceBytesMax = 4 * 1024 * 1024;

/** `backups/<id>`, `backups/<id>/` and `backups/<id>/manifest`, at the top of the destination or in a folder of it. */
export function locateBackup(path: string): Located {
  const segments = path.replace(/\/+$/, '').split('/');
  if (segments.at(-1) === 'manifest') segments.pop();
  const backupId = segments.pop() ?? '';
  const isOurs = segments.pop() === 'backups' && isOwnerId(backupId);
  if (!isOurs) throw invalid('path', 'must name a backup of this service, such as backups/<id>/manifest');
  return { backupId, folder: segments.map((segment) => `${segment}/`).join('') };
}

export async function openLocated(
  store: BlobStore,
  { backupId, folder }: Located,
  keys: KeyRing,
  codec: SegmentCodec,
  signal: AbortSignal,
): Promise<BackupReader> {
  return BackupReader.open({ store: new PrefixedStore(store, folder), backupId, keys, codec, signal });
}

export interface ForeignFacts {
  /** When the file was written: the data is not younger. */
  modifiedAt: Date | undefined;
}

/** What can be seen of a foreign file without reading it all. A small file is read all the same. */
export async function inspectForeign(
  store: BlobStore,
  path: string,
  format: 'firestore-export' | 'json',
  options: { codec: SegmentCodec; database: string; signal: AbortSignal },
): Promise<ForeignFacts> {
  const { signal, database, codec } = options;
  if (format === 'firestore-export') {
    const { outputs } = await findManagedExport(store, path, { signal });
    return { modifiedAt: outputs[0]?.modifiedAt };
  }
  const info = await store.head(path, { signal });
  if (!info) throw new EngineError('STORAGE_NOT_FOUND', `There is no file ${path}.`);
  if (info.size > readAtOnceBytesMax) {
    const start = Buffer.from(await store.getRange(path, 0, 1024, { signal })).toString('utf8');
    if (!/^\uFEFF?\s*\{/.test(start)) throw new EngineError('VALIDATION_ERROR', `${path} is not a JSON object.`);
  } else {
    await openForeignView({ store, path, format, database, codec, signal, scratch: createMemoryStore() });
  }
  return { modifiedAt: info.modifiedAt };
}

/** A file that is not there, or is not what it should be, is a mistake in the request. */
export function asPathFault(error: unknown, path: string): unknown {
  if (isEngineError(error, 'STORAGE_NOT_FOUND')) return invalid('path', `there is nothing at ${path}`);
  return isEngineError(error, 'VALIDATION_ERROR') ? invalid('path', error.message) : error;
}
