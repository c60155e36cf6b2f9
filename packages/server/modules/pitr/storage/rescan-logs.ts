import {
  type BlobStore,
  type KeyRing,
  logIdOfKey,
  logManifestKey,
  logSegmentStart,
  logSegmentsPrefix,
  logsPrefix,
  openLogManifest,
} from '@holdfast/engine';
import type { TaskResult, TaskRun } from '../../storage/index.ts';
import type { PitrContext } from '../context.ts';
import { openLog } from '../log-access.ts';
import { writeManifestOnce } from '../log-manifest.ts';
import { type LogRow, pitrStore } from '../pitr-store.ts';
import { segmentStore } from '../segment-store.ts';
import { adoptSegments } from './adopt-segments.ts';
import { copyMissingSegments } from './copy-missing-segments.ts';
import { faultOf, registerLog } from './register-log.ts';

/**
 * Registers unknown logs for the projects of their databases, switched off, or joins them to the log that the project
 * has. For known logs it reports lost segments and adopts segments that the catalogue does not know.
 */
export async function rescanLogs(context: PitrContext, { destination, signal }: TaskRun): Promise<TaskResult> {
  const { organizationId } = destination;
  const { platform, stores, keys } = context.backups;
  const store = await stores.open(destination);
  const failures: { key: string; reason: string }[] = [];
  const result = { found: 0, registered: 0, relinked: 0, missing: 0, failures };
  try {
    const noteFault = (row: LogRow) => (error: unknown) => {
      failures.push({ key: logManifestKey(row.logId), reason: faultOf(error, signal).slice(0, 2000) });
      return 0;
    };
    const { ring } = await platform.database.tenant(organizationId, (transaction) =>
      keys.ring(transaction, organizationId),
    );
    const place = { organizationId, destinationId: destination.id, store, ring, signal };
    for (const logId of await originalsLast(store, ring, await logsIn(store, signal), signal)) {
      const known = await platform.database.system((transaction) => pitrStore.findByLog(transaction, logId));
      if (known) {
        if (known.organizationId === organizationId && known.storageDestinationId !== destination.id)
          result.relinked += await completeKnownPlace(context, known, store, signal).catch(noteFault(known));
        continue;
      }
      const outcome = await registerLog(context, place, logId);
      if (outcome === undefined) continue;
      result.found += 1;
      if ('registered' in outcome) result.registered += 1;
      else if ('joinedSegments' in outcome) result.relinked += outcome.joinedSegments;
      else result.failures.push({ key: logManifestKey(logId), reason: outcome.fault.slice(0, 2000) });
    }
    const known = await platform.database.tenant(organizationId, (transaction) =>
      pitrStore.inDestination(transaction, organizationId, destination.id),
    );
    for (const row of known) {
      result.missing += await findLost(context, row, store, signal);
      result.relinked += await adoptSegments(context, row, store, signal).catch(noteFault(row));
    }
  } finally {
    await store.close();
  }
  return result;
}

/** Copies missing segments to the place that the catalogue names, then compares that place again. */
async function completeKnownPlace(
  context: PitrContext,
  row: LogRow,
  here: BlobStore,
  signal: AbortSignal,
): Promise<number> {
  const brought = await copyMissingSegments(context, row, here, signal);
  if (brought === 0) return 0;
  const home = await openLog(context, row);
  try {
    await findLost(context, row, home.store, signal);
    await adoptSegments(context, row, home.store, signal);
  } finally {
    await home.close();
  }
  return brought;
}

const lostReason = 'What was captured then is gone from its storage.';

/**
 * Turns missing segments into gaps until they are back, and rewrites a missing manifest. Returns how many segments are
 * missing.
 */
async function findLost(context: PitrContext, row: LogRow, store: BlobStore, signal: AbortSignal): Promise<number> {
  const { database } = context.backups.platform;
  const { organizationId, projectId, logId } = row;
  const said = await database.tenant(organizationId, (transaction) => segmentStore.stored(transaction, logId));
  const there = new Set<string>();
  for await (const { key } of store.list(logSegmentsPrefix(logId), { signal })) there.add(key);
  const missing = said.filter(({ key }) => !there.has(key));
  const lost = missing.filter(({ isLost }) => !isLost);
  const regained = said.filter(({ key, isLost }) => isLost && there.has(key));
  const isClosed = row.manifestWritten && (await store.head(logManifestKey(logId), { signal })) === undefined;
  if (isClosed) {
    const log = await openLog(context, row);
    await writeManifestOnce(context, { ...row, manifestWritten: false }, log, signal).finally(() => log.close());
  }
  if (lost.length > 0 || regained.length > 0 || isClosed)
    await database.tenant(organizationId, async (transaction) => {
      await segmentStore.lose(transaction, logId, sequencesOf(lost), lostReason);
      await segmentStore.regain(transaction, logId, sequencesOf(regained));
      await context.backups.audit.noteSystem(transaction, organizationId, {
        action: 'pitr.log_compared',
        resource: { type: 'project', id: projectId },
        details: { logId, lost: lost.length, regained: regained.length, manifestRenewed: isClosed },
      });
    });
  return missing.length;
}

const sequencesOf = (segments: readonly { sequence: number }[]) => segments.map(({ sequence }) => sequence);

/** Puts logs last whose time was already taken into another one here; they then add nothing. */
async function originalsLast(
  store: BlobStore,
  ring: KeyRing,
  logIds: readonly string[],
  signal: AbortSignal,
): Promise<string[]> {
  const taken = new Set<string>();
  for (const logId of logIds) {
    // A manifest that cannot be opened is reported when its turn comes.
    const manifest = await openLogManifest(store, logId, ring, { signal }).catch(() => undefined);
    for (const { logId: original } of manifest?.body.joined ?? []) taken.add(original);
  }
  return [...logIds.filter((logId) => !taken.has(logId)), ...logIds.filter((logId) => taken.has(logId))];
}

/**
 * The logs with a manifest. The one that reaches furthest comes first, because the others of its database are joined to
 * it.
 */
async function logsIn(store: BlobStore, signal: AbortSignal): Promise<string[]> {
  const lastStarts = new Map<string, string>();
  const whole: string[] = [];
  for await (const { key } of store.list(logsPrefix, { signal })) {
    const logId = logIdOfKey(key);
    if (logId === undefined) continue;
    if (key === logManifestKey(logId)) whole.push(logId);
    else if (logSegmentStart(key) > (lastStarts.get(logId) ?? '')) lastStarts.set(logId, logSegmentStart(key));
  }
  const lastStart = (logId: string) => lastStarts.get(logId) ?? '';
  return whole.sort((left, right) => (lastStart(left) < lastStart(right) ? 1 : -1));
}
