import { setTimeout as sleep } from 'node:timers/promises';
import {
  type BlobStore,
  isEngineError,
  type LogReader,
  logManifestKey,
  logPrefix,
  type PutOptions,
} from '@holdfast/engine';
import { isUnused } from '../../../platform/database/use-locks.ts';
import { later, minuteMs } from '../../../platform/durations.ts';
import {
  type DestinationRow,
  putAndReadBack,
  storageStore,
  type TaskResult,
  type TaskRun,
  withStore,
} from '../../storage/index.ts';
import type { PitrContext } from '../context.ts';
import { removeLogJob } from '../jobs.ts';
import { lockOf, logLockName, logRemovalLockName, readerOf } from '../log-access.ts';
import { type LogRow, pitrStore } from '../pitr-store.ts';

/** Capture pauses while the last objects are copied. After this long it may begin again in any case. */
const pauseMs = 5 * minuteMs;
const checkEveryMs = 500;

/**
 * Moves the logs of a destination. Each is copied while capture goes on; then capture pauses while the rest is copied
 * and the record is switched. A job removes the originals last.
 */
export async function migrateLogs(context: PitrContext, run: TaskRun): Promise<TaskResult> {
  const { destination, task, signal } = run;
  const { organizationId } = destination;
  const { platform, stores } = context.backups;
  const { rows, target } = await platform.database.tenant(organizationId, async (transaction) => ({
    rows: await pitrStore.inDestination(transaction, organizationId, destination.id),
    target: await storageStore.get(transaction, organizationId, task.toStorageDestinationId ?? ''),
  }));
  if (rows.length === 0) return {};
  return await withStore(stores, destination, (from) =>
    withStore(stores, target, async (to) => {
      let bytes = 0;
      for (const row of rows) bytes += await moveAlone(context, row, { from, to, destination, target, signal });
      return { bytes };
    }),
  );
}

interface Move {
  from: BlobStore;
  to: BlobStore;
  destination: DestinationRow;
  target: DestinationRow;
  signal: AbortSignal;
}

/** Waits until an earlier removal in the target has ended: it would also remove what is copied there now. */
async function moveAlone(context: PitrContext, row: LogRow, move: Move): Promise<number> {
  const { database } = context.backups.platform;
  const { organizationId, logId } = row;
  const release = await database.useLocks.hold([logLockName(logId, move.target.id)]);
  try {
    const isQuiet = () =>
      database.tenant(organizationId, (transaction) =>
        isUnused(transaction, logRemovalLockName(logId, move.target.id)),
      );
    while (!(await isQuiet())) await sleep(checkEveryMs, undefined, { signal: move.signal });
    return await moveLog(context, row, move);
  } finally {
    await release();
  }
}

async function moveLog(context: PitrContext, row: LogRow, move: Move): Promise<number> {
  const { database, clock, queue } = context.backups.platform;
  const { organizationId, projectId, logId } = row;
  const lock = lockOf(move.target, clock.now());
  const copied = new Set<string>();
  const reader = await readerOf(context, row, move.from);
  let bytes = await copyNew(reader, move, lock, copied);
  const paused = await database.tenant(organizationId, async (transaction) => {
    const current = await pitrStore.lock(transaction, organizationId, projectId);
    if (current?.logId !== logId) return undefined;
    const retryAt = later(clock.now(), pauseMs);
    return pitrStore.update(transaction, organizationId, projectId, {
      epoch: current.epoch + 1,
      holder: null,
      retryAt: current.enabled ? retryAt : current.retryAt,
    });
  });
  if (!paused) return bytes;
  bytes += await copyNew(reader, move, lock, copied);
  await database.tenant(organizationId, async (transaction) => {
    const current = await pitrStore.lock(transaction, organizationId, projectId);
    if (current?.logId !== logId) return;
    // The log was repaired or captured meanwhile, and those segments are only in the old place.
    if (current.epoch !== paused.epoch || current.nextSequence !== paused.nextSequence)
      throw new Error(`the log of ${projectId} changed while it was moved`);
    // A rotation in between has written its manifest only to the old place, or not at all.
    const isManifestCopied = paused.manifestWritten && paused.envelope.wrapped === current.envelope.wrapped;
    const change = { storageDestinationId: move.target.id, retryAt: null, manifestWritten: isManifestCopied };
    await pitrStore.update(transaction, organizationId, projectId, change);
    const originals = { organizationId, storageDestinationId: move.destination.id, logId };
    await queue.enqueue(transaction, removeLogJob, originals, { key: `${logId}/${move.destination.id}` });
  });
  return bytes;
}

/**
 * Copies new objects. Only the manifest ever changes, and it is copied last. Identical objects are not sent again, and
 * a whole object is not replaced by a damaged one.
 */
async function copyNew(
  reader: LogReader,
  { from, to, signal }: Move,
  lock: PutOptions,
  copied: Set<string>,
): Promise<number> {
  const logId = reader.context.ownerId;
  const manifest = logManifestKey(logId);
  let bytes = 0;
  const copy = async (key: string) => {
    const content = await from.get(key, { signal });
    const there = await contentOf(to, key, signal);
    if (there && Buffer.compare(there, content) === 0) return;
    if (there && !(await reader.isWhole(key, content)) && (await reader.isWhole(key, there))) return;
    await putAndReadBack(to, key, content, { signal }, lock);
    bytes += content.length;
  };
  for await (const { key } of from.list(logPrefix(logId), { signal })) {
    if (copied.has(key) || key === manifest) continue;
    await copy(key);
    copied.add(key);
  }
  if ((await from.head(manifest, { signal })) !== undefined) await copy(manifest);
  return bytes;
}

async function contentOf(store: BlobStore, key: string, signal: AbortSignal): Promise<Uint8Array | undefined> {
  return store.get(key, { signal }).catch((error: unknown) => {
    if (isEngineError(error, 'STORAGE_NOT_FOUND')) return undefined;
    throw error;
  });
}
