import { isEngineError, logManifestKey, wholeDatabase, writeLogManifest } from '@holdfast/engine';
import { dayMs } from '../../platform/durations.ts';
import { forEachByOrganization } from '../../platform/for-each-by-organization.ts';
import { storeKeysBeside } from '../backups/index.ts';
import { storageStore } from '../storage/index.ts';
import type { PitrContext } from './context.ts';
import { lockOf, type OpenedLog, openLog } from './log-access.ts';
import { type LogKey, type LogRow, pitrStore } from './pitr-store.ts';

const logsAtOnce = 50;
/** The lock is looked at every day, and one look may fail. */
const daysBetweenLocks = 1;
const daysBeyondSegments = 2 * daysBetweenLocks;

/**
 * Writes the manifest, so that the bucket alone is enough to open the log: it holds the log's key as it is wrapped now.
 * If the key is rotated meanwhile, the manifest is written again, because the rotation relies on that.
 */
export async function writeManifestOnce(
  context: PitrContext,
  row: LogRow,
  log: OpenedLog,
  signal: AbortSignal,
): Promise<void> {
  const { organizationId, storageDestinationId } = row;
  let current: LogRow | undefined = row;
  while (current && !current.manifestWritten) {
    signal.throwIfAborted();
    await storeKeysBeside(context.backups, organizationId, [{ store: log.store, storageDestinationId }], signal);
    const manifest = {
      store: log.store,
      logId: row.logId,
      database: row.database,
      scope: wholeDatabase,
      createdAt: row.startedFrom,
      from: row.startedFrom,
      joined: row.joined.map(({ logId, from, through }) => ({ logId, from, through })),
      dataKey: log.seal.dataKey,
      envelope: current.envelope,
    };
    await writeLogManifest(manifest, lockOfManifest(context, log));
    const written: LogRow = current;
    current = await context.backups.platform.database.tenant(organizationId, (transaction) =>
      pitrStore.noteManifest(transaction, written),
    );
  }
}

/**
 * The same before capture begins. In a bucket that locks everything, the former manifest stays for now; it says the
 * same under the former key. Capture does not wait for the lock to end, the new manifest does.
 */
export async function writeManifestIfFree(
  context: PitrContext,
  row: LogRow,
  log: OpenedLog,
  signal: AbortSignal,
): Promise<void> {
  try {
    await writeManifestOnce(context, row, log, signal);
  } catch (error) {
    const isKept = isEngineError(error, 'STORAGE_PERMISSION_DENIED');
    if (!isKept || !(await log.store.head(logManifestKey(row.logId), { signal }))) throw error;
    const { logId, projectId } = row;
    context.backups.platform.log.warn({ err: error, projectId, logId }, 'a log keeps its former manifest for now');
  }
}

function lockOfManifest({ backups: { platform } }: PitrContext, { destination: { objectLock } }: OpenedLog) {
  const longer = objectLock && { ...objectLock, days: objectLock.days + daysBeyondSegments };
  return lockOf({ objectLock: longer }, platform.clock.now());
}

/**
 * No segment opens without the key in the manifest, so the manifest stays locked at least as long as every segment that
 * is stored before the next look. One that must be replaced is not locked longer: some buckets replace nothing that is
 * locked.
 */
export async function keepManifestLocked(
  context: PitrContext,
  { logId, projectId, manifestWritten }: LogRow,
  log: OpenedLog,
  signal: AbortSignal,
): Promise<void> {
  const { lock } = lockOfManifest(context, log);
  if (!lock || !manifestWritten) return;
  const key = logManifestKey(logId);
  try {
    const found = await log.store.head(key, { signal });
    const needed = lock.retainUntil.getTime() - daysBetweenLocks * dayMs;
    if (!found || (found.lockedUntil && found.lockedUntil.getTime() >= needed)) return;
    await log.store.extendLock([key], lock, { signal });
  } catch (error) {
    if (!isEngineError(error) || signal.aborted) throw error;
    const { log: logger } = context.backups.platform;
    logger.warn({ err: error, projectId, logId }, 'the manifest of a log could not be locked for longer');
  }
}

/** The same for a log that is not open. */
export async function keepManifestOfLocked(
  context: PitrContext,
  { organizationId, projectId }: LogKey,
  signal: AbortSignal,
): Promise<void> {
  const { database } = context.backups.platform;
  const row = await database.tenant(organizationId, async (transaction) => {
    const found = await pitrStore.find(transaction, organizationId, projectId);
    const place = found && (await storageStore.find(transaction, organizationId, found.storageDestinationId));
    return place?.objectLock ? found : undefined;
  });
  if (!row) return;
  const opened = await openLog(context, row);
  await keepManifestLocked(context, row, opened, signal).finally(() => opened.close());
}

/**
 * Writes manifests after a rotation of keys, for logs that are not captured any more or whose manifest could not be
 * replaced.
 */
export async function renewManifests(context: PitrContext, signal: AbortSignal): Promise<void> {
  const { database, log } = context.backups.platform;
  const rows = await database.system((transaction) => pitrStore.withOldManifest(transaction, logsAtOnce));
  await forEachByOrganization(
    rows,
    signal,
    async (row, ownSignal) => {
      const opened = await openLog(context, row);
      try {
        if (await isReplaceable(context, row, opened, ownSignal))
          await writeManifestOnce(context, row, opened, ownSignal);
      } finally {
        await opened.close();
      }
    },
    (error, { projectId }) =>
      log.warn({ err: error, projectId }, 'the manifest of a log could not be renewed; tried again'),
  );
}

/** S3 puts a new version beside a locked one. Google's buckets replace nothing that is locked. */
async function isReplaceable(
  { backups: { platform } }: PitrContext,
  { logId }: LogRow,
  { store, destination }: OpenedLog,
  signal: AbortSignal,
): Promise<boolean> {
  if (destination.type !== 'gcs') return true;
  const { lockedUntil } = (await store.head(logManifestKey(logId), { signal })) ?? {};
  return lockedUntil === undefined || lockedUntil <= platform.clock.now();
}
