import { isEngineError, logManifestKey, wholeDatabase, writeLogManifest } from '@holdfast/engine';
import { forEachByOrganization } from '../../platform/for-each-by-organization.ts';
import { storeKeysBeside } from '../backups/index.ts';
import type { PitrContext } from './context.ts';
import { type OpenedLog, openLog } from './log-access.ts';
import { type LogRow, pitrStore } from './pitr-store.ts';

const logsAtOnce = 50;

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
    await writeLogManifest({
      store: log.store,
      logId: row.logId,
      database: row.database,
      scope: wholeDatabase,
      createdAt: row.startedFrom,
      from: row.startedFrom,
      joined: row.joined.map(({ logId, from, through }) => ({ logId, from, through })),
      dataKey: log.seal.dataKey,
      envelope: current.envelope,
    });
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
      await writeManifestOnce(context, row, opened, ownSignal).finally(() => opened.close());
    },
    (error, { projectId }) =>
      log.warn({ err: error, projectId }, 'the manifest of a log could not be renewed; tried again'),
  );
}
