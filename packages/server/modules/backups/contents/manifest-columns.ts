import {
  type BackupReader,
  type BlobStore,
  backupPrefix,
  EngineError,
  type ManifestBody,
  storedBytesOf,
  wholeView,
} from '@holdfast/engine';
import type { NewBackup } from '../backup-store.ts';
import { scopeColumns } from '../scope.ts';
import type { SnapshotShare } from '../tables.ts';

type Facts = Pick<
  NewBackup,
  | 'type'
  | 'parentId'
  | 'mergedFrom'
  | 'collections'
  | 'excludeCollections'
  | 'includeSubcollections'
  | 'documentPaths'
  | 'includeAuthUsers'
  | 'snapshotTime'
  | 'logId'
>;

/** The columns of a backup's record that repeat its manifest. */
export function manifestColumns(body: ManifestBody): Facts {
  return {
    ...scopeColumns(body.scope),
    type: body.type,
    parentId: body.parent?.backupId ?? null,
    mergedFrom: body.mergedFrom.length > 0 ? [...body.mergedFrom] : null,
    includeAuthUsers: body.authUsers !== null,
    snapshotTime: body.snapshotTime,
    logId: logIdOf(body),
  };
}

/** For backups made before manifests named their log: it counts for whichever log the project has. */
export const anyLog = 'any';

/** A safety backup is never read at a mark of a log. */
export function logIdOf({ log, isSafety = false }: Pick<ManifestBody, 'log' | 'isSafety'>): string | null {
  return log === undefined && !isSafety ? anyLog : (log ?? null);
}

/**
 * Which share of the documents was read at which time: one entry when the snapshot held. How many documents a range has
 * is known only while the backup is being finished; later, from the manifest alone, ranges count as equal.
 */
export function snapshotShares(body: ManifestBody, documentsOf?: (range: number) => number): SnapshotShare[] {
  const perRange = body.counts.documents / Math.max(1, body.ranges.length);
  const times = new Map<string, number>();
  for (const [index, range] of body.ranges.entries()) {
    const documents = (documentsOf?.(index) ?? perRange) / range.parts.length;
    for (const { readTime } of range.parts) times.set(readTime, (times.get(readTime) ?? 0) + documents);
  }
  const total = [...times.values()].reduce((sum, documents) => sum + documents, 0);
  return [...times].map(([time, documents]) => ({
    time: new Date(time).toISOString(),
    documents: times.size === 1 ? body.counts.documents : Math.round(documents),
    percent: times.size === 1 ? 100 : Math.round((100 * documents) / Math.max(1, total)),
  }));
}

/** Throws INTEGRITY_ERROR unless every object that the manifest lists is in the store in its full length. */
export async function requireComplete(store: BlobStore, reader: BackupReader, signal: AbortSignal): Promise<void> {
  const { body, backupId } = reader;
  const prefix = backupPrefix(backupId);
  const missing = new Map<string, number>(
    body.shards.map(({ id, storedBytes }) => [`${prefix}shards/${id}`, storedBytes]),
  );
  const addSegment = (descriptor: Parameters<typeof storedBytesOf>[0]) =>
    missing.set(`${prefix}segments/${descriptor.id}`, storedBytesOf(descriptor));
  for await (const descriptor of reader.descriptors(wholeView)) addSegment(descriptor);
  for (const descriptor of body.authUsers?.segments ?? []) addSegment(descriptor);
  if (missing.size === 0) return;
  for await (const { key, size } of store.list(prefix, { signal })) if (missing.get(key) === size) missing.delete(key);
  if (missing.size === 0) return;
  throw new EngineError('INTEGRITY_ERROR', `Backup ${backupId} misses ${missing.size} of its objects.`, {
    details: { backupId, missingObjects: [...missing.keys()].slice(0, 10) },
  });
}

/** How many changes an increment holds; null for a full backup. */
export const changesOf = ({ type, counts }: Pick<ManifestBody, 'type' | 'counts'>): number | null =>
  type === 'incremental' ? counts.puts + counts.deletes : null;
