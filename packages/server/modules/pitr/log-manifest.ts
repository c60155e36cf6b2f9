import { isEngineError, logManifestKey, wholeDatabase, writeLogManifest } from '@holdfast/engine';
import { byOrganization } from '../../platform/by-organization.ts';
import { storeKeysBeside } from '../backups/index.ts';
import type { PitrContext } from './context.ts';
import { type OpenedLog, openLog } from './log-access.ts';
import { type LogRow, pitrStore } from './pitr-store.ts';

const logsAtOnce = 50;

/**
 * The bucket alone must be enough to open the log: its manifest carries the key as it is wrapped now. A rotation may come while
 * it is written; then it is written once more, because whoever rotated relies on the one that writes.
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
 * The same before something is captured: a bucket that locks what is put into it keeps the former manifest, which tells the same under
 * the former key. Changes do not wait for the end of a lock, the manifest does.
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

/** After a rotation of keys, of logs that nobody captures any more, or that were refused it when a capture began. */
export async function renewManifests(context: PitrContext, signal: AbortSignal): Promise<void> {
  const { database, log } = context.backups.platform;
  const rows = await database.system((transaction) => pitrStore.withOldManifest(transaction, logsAtOnce));
  await byOrganization(
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
