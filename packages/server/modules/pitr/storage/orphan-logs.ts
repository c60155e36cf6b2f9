import {
  type BlobStore,
  instantDigits,
  type LogGap,
  logIdOfKey,
  logManifestKey,
  logSegmentStart,
  logsPrefix,
} from '@holdfast/engine';
import { dayMs } from '../../../platform/durations.ts';
import {
  type DestinationRow,
  type OrphanObject,
  Sweep,
  type TaskResult,
  type TaskRun,
  withStore,
} from '../../storage/index.ts';
import type { PitrContext } from '../context.ts';
import { type LogRow, pitrStore } from '../pitr-store.ts';
import { segmentStore } from '../segment-store.ts';

/** The writer of an older object has recorded it in the catalogue long ago, or never will. */
const youngMs = dayMs;

interface FindOptions {
  readonly after?: string | undefined;
  readonly signal: AbortSignal;
  readonly onKept?: (logId: string, reason: string) => void;
}

/**
 * Finds objects below `logs/` that no log owns: written by a worker that died or lost its lease before the catalogue
 * knew of them, or left over from a removed log. In doubt an object is owned.
 */
export async function* findOrphanLogs(
  context: PitrContext,
  destination: DestinationRow,
  store: BlobStore,
  { after, signal, onKept }: FindOptions,
): AsyncGenerator<OrphanObject> {
  const nowMs = context.backups.platform.clock.now().getTime();
  let current: { logId: string; owns: (key: string) => boolean } | undefined;
  for await (const info of store.list(logsPrefix, { signal, ...(after === undefined ? {} : { startAfter: after }) })) {
    const logId = logIdOfKey(info.key);
    if (logId === undefined || nowMs - info.modifiedAt.getTime() < youngMs) continue;
    if (current?.logId !== logId) current = { logId, owns: await ownerOf(context, destination, store, logId, onKept) };
    if (!current.owns(info.key)) yield { key: info.key, bytes: info.size, lastModified: info.modifiedAt };
  }
}

async function ownerOf(
  context: PitrContext,
  destination: DestinationRow,
  store: BlobStore,
  logId: string,
  onKept: FindOptions['onKept'],
): Promise<(key: string) => boolean> {
  const { database } = context.backups.platform;
  const row = await database.system((transaction) => pitrStore.findByLog(transaction, logId));
  if (!row) {
    const isWhole = (await store.head(logManifestKey(logId))) !== undefined;
    const isTaken = await database.system((transaction) => pitrStore.isTaken(transaction, logId));
    if (isWhole) onKept?.(logId, isTaken ? takenTime : 'no record knows this log; a rescan registers it');
    return () => isWhole;
  }
  if (row.organizationId !== destination.organizationId) return () => true;
  const { keys, gaps } = await database.tenant(row.organizationId, async (transaction) => ({
    keys: await segmentStore.keys(transaction, logId),
    gaps: await segmentStore.gaps(transaction, logId),
  }));
  let isReported = false;
  return (key) => {
    if (key === logManifestKey(logId) || keys.has(key)) return true;
    if (isTimeCatalogued(row, gaps, key)) return false;
    if (!isReported) onKept?.(logId, unknownTime);
    isReported = true;
    return true;
  };
}

const takenTime = 'its time was taken into another log of the same database, and it goes with that one';
const unknownTime =
  'holds captured time that this catalogue does not know: of another server, or from after the copy that this one came back from';

/**
 * Whether the catalogue knows the time of this segment, or has removed it for its age. If not, somebody else captures
 * this log, or the catalogue is older than the log.
 */
export function isTimeCatalogued(
  { startedFrom, coveredThrough }: LogRow,
  gaps: readonly LogGap[],
  key: string,
): boolean {
  const start = logSegmentStart(key);
  if (start < instantDigits(startedFrom)) return true;
  const isInGap = gaps.some(({ from, through }) => instantDigits(from) <= start && start < instantDigits(through));
  return start < instantDigits(coveredThrough) && !isInGap;
}

export async function sweepLogs(context: PitrContext, { destination, signal }: TaskRun): Promise<TaskResult> {
  return await withStore(context.backups.stores, destination, async (store) => {
    const sweep = new Sweep(store, signal);
    const onKept = (logId: string, reason: string) => sweep.keep(logManifestKey(logId), reason);
    for await (const orphan of findOrphanLogs(context, destination, store, { signal, onKept })) await sweep.add(orphan);
    await sweep.flush();
    return sweep.result;
  });
}
