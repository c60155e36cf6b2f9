import {
  BackupReader,
  type BlobStore,
  EngineError,
  type ForeignFormat,
  findManagedExport,
  isEngineError,
  isOwnerId,
  type KeyRing,
  type SegmentCodec,
} from '@holdfast/engine';
import type { Clock } from '../../../platform/clock.ts';
import { minuteMs } from '../../../platform/durations.ts';
import { invalid } from '../../../platform/problem.ts';
import { PrefixedStore } from './prefixed-store.ts';

/** One of our backups: its id, and the folder that holds `backups/`. */
export interface Located {
  backupId: string;
  folder: string;
}

/** Limits while the caller waits; larger imports are left to the job. */
const lookLimits = { files: 2000, metadataBytes: 1024 * 1024 };

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
  /** When the file was written: its data is not newer. */
  modifiedAt: Date | undefined;
}

/** What can be seen of a foreign file without reading all of it. The job reads it on its own thread. */
export async function inspectForeign(
  store: BlobStore,
  path: string,
  format: ForeignFormat,
  signal: AbortSignal,
): Promise<ForeignFacts> {
  if (format === 'firestore-export') {
    const { outputs } = await findManagedExport(store, path, { signal }, lookLimits).catch((error: unknown) => {
      if (isEngineError(error) && error.details.isTooLarge) return { outputs: [] };
      throw error;
    });
    return { modifiedAt: outputs[0]?.modifiedAt };
  }
  const info = await store.head(path, { signal });
  if (!info) throw new EngineError('STORAGE_NOT_FOUND', `There is no file ${path}.`);
  const start = info.size === 0 ? '' : await store.getRange(path, 0, Math.min(1024, info.size), { signal });
  if (!/^\uFEFF?\s*\{/.test(Buffer.from(start).toString('utf8')))
    throw new EngineError('VALIDATION_ERROR', `${path} is not a JSON object.`);
  return { modifiedAt: info.modifiedAt };
}

/** A file that is not there, or is not what it should be, is a mistake in the request. */
export function asPathFault(error: unknown, path: string): unknown {
  if (isEngineError(error, 'STORAGE_NOT_FOUND')) return invalid('path', `there is nothing at ${path}`);
  return isEngineError(error, 'VALIDATION_ERROR') ? invalid('path', error.message) : error;
}

/** Tolerates a clock that is a little ahead of ours. */
const aheadMsMax = 15 * minuteMs;

/** A backup from the future would count as newer than every backup made until then. */
export function requirePast(createdAt: string | undefined, clock: Clock): void {
  if (createdAt && Date.parse(createdAt) > clock.now().getTime() + aheadMsMax)
    throw invalid('metadata.createdAt', 'must not lie in the future');
}
