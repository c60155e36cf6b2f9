import {
  type BlobStore,
  isEngineError,
  type KeyRing,
  type LogSegment,
  logIdOfKey,
  logManifestKey,
  logSegmentsPrefix,
  logsPrefix,
  type OpenedLogManifest,
  openLogManifest,
} from '@holdfast/engine';
import type { Transaction } from '../../../platform/database/database.ts';
import type { TaskResult, TaskRun } from '../../storage/index.ts';
import type { PitrContext } from '../context.ts';
import { openLog } from '../log-access.ts';
import { writeManifestOnce } from '../log-manifest.ts';
import { type LogRow, pitrStore } from '../pitr-store.ts';
import { bringHome } from './bring-home.ts';
import { joinedSegments } from './joined-segments.ts';
import { segmentStore } from './segment-store.ts';
import { takeUpSegments } from './take-up-segments.ts';

/**
 * A log that lies here and that nobody knows is catalogued again, switched off, for the project of its database. Of known ones what is
 * gone is told, and what the catalogue does not know is taken up.
 */
export async function rescanLogs(context: PitrContext, { destination, signal }: TaskRun): Promise<TaskResult> {
  const { organizationId } = destination;
  const { platform, stores, keys } = context.backups;
  const store = await stores.open(destination);
  const failures: { key: string; reason: string }[] = [];
  const result = { found: 0, registered: 0, relinked: 0, missing: 0, failures };
  try {
    const tellFault = (row: LogRow) => (error: unknown) => {
      failures.push({ key: logManifestKey(row.logId), reason: faultOf(error, signal).slice(0, 2000) });
      return 0;
    };
    const { ring } = await platform.database.tenant(organizationId, (transaction) =>
      keys.ring(transaction, organizationId),
    );
    for (const logId of await logsIn(store, signal)) {
      const known = await platform.database.system((transaction) => pitrStore.findByLog(transaction, logId));
      if (known) {
        if (known.organizationId === organizationId && known.storageDestinationId !== destination.id)
          result.relinked += await linkElsewhere(context, known, store, signal).catch(tellFault(known));
        continue;
      }
      result.found += 1;
      const fault = await register(context, {
        organizationId,
        destinationId: destination.id,
        logId,
        store,
        ring,
        signal,
      });
      if (fault === undefined) result.registered += 1;
      else result.failures.push({ key: logManifestKey(logId), reason: fault.slice(0, 2000) });
    }
    const known = await platform.database.tenant(organizationId, (transaction) =>
      pitrStore.inDestination(transaction, organizationId, destination.id),
    );
    for (const row of known) {
      result.missing += await findLost(context, row, store, signal);
      result.relinked += await takeUpSegments(context, row, store, signal).catch(tellFault(row));
    }
  } finally {
    await store.close();
  }
  return result;
}

/** Where its catalogue believes it, it is looked at anew. */
async function linkElsewhere(context: PitrContext, row: LogRow, here: BlobStore, signal: AbortSignal): Promise<number> {
  const brought = await bringHome(context, row, here, signal);
  if (brought === 0) return 0;
  const home = await openLog(context, row);
  try {
    await findLost(context, row, home.store, signal);
    await takeUpSegments(context, row, home.store, signal);
  } finally {
    await home.close();
  }
  return brought;
}

const lostReason = 'What was captured then is gone from its storage.';

/**
 * Segments that the catalogue knows and that are gone become gaps until they are there again; a manifest that is gone is
 * written anew. How many segments are missing.
 */
async function findLost(context: PitrContext, row: LogRow, store: BlobStore, signal: AbortSignal): Promise<number> {
  const { database } = context.backups.platform;
  const { organizationId, projectId, logId } = row;
  const said = await database.tenant(organizationId, (transaction) => segmentStore.storedSegments(transaction, logId));
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
      await segmentStore.loseSegments(transaction, logId, sequencesOf(lost), lostReason);
      await segmentStore.regainSegments(transaction, logId, sequencesOf(regained));
      await context.backups.audit.noteSystem(transaction, organizationId, {
        action: 'pitr.log_compared',
        resource: { type: 'project', id: projectId },
        details: { logId, lost: lost.length, regained: regained.length, manifestRenewed: isClosed },
      });
    });
  return missing.length;
}

const sequencesOf = (segments: readonly { sequence: number }[]) => segments.map(({ sequence }) => sequence);

async function logsIn(store: BlobStore, signal: AbortSignal): Promise<Set<string>> {
  const ids = new Set<string>();
  for await (const { key } of store.list(logsPrefix, { signal })) {
    const logId = logIdOfKey(key);
    if (logId !== undefined && key === logManifestKey(logId)) ids.add(logId);
  }
  return ids;
}

interface Found {
  organizationId: string;
  destinationId: string;
  logId: string;
  store: BlobStore;
  ring: KeyRing;
  signal: AbortSignal;
}

/** Why it could not be, if so. */
async function register(context: PitrContext, found: Found): Promise<string | undefined> {
  const { organizationId, logId, store, ring, signal } = found;
  try {
    const manifest = await openLogManifest(store, logId, ring, { signal });
    const described: LogSegment[] = [];
    for await (const segment of manifest.reader.describe({ signal })) described.push(segment);
    const { segments, coveredThrough } = joinedSegments(described, manifest.body.from);
    return await context.backups.platform.database.tenant(organizationId, async (transaction) => {
      const row = await insertLog(context, transaction, found, manifest, coveredThrough);
      if (!row) return 'its project has another log already';
      const now = context.backups.platform.clock.now();
      for (const [index, segment] of segments.entries())
        await pitrStore.insertSegment(transaction, { ...row, nextSequence: index }, segment, now);
      await pitrStore.update(transaction, organizationId, row.projectId, { nextSequence: segments.length });
      await context.backups.audit.noteSystem(transaction, organizationId, {
        action: 'pitr.log_registered',
        resource: { type: 'project', id: row.projectId },
        details: { logId, segments: segments.length, storageDestinationId: found.destinationId },
      });
      return undefined;
    });
  } catch (error) {
    return faultOf(error, signal);
  }
}

/** What will not pass by itself, as a sentence; all else goes on. */
function faultOf(error: unknown, signal: AbortSignal): string {
  if (!isEngineError(error) || error.retryable || signal.aborted) throw error;
  return `${error.code}: ${error.message}`;
}

async function insertLog(
  context: PitrContext,
  transaction: Transaction,
  { organizationId, destinationId, logId }: Found,
  { body, envelope }: OpenedLogManifest,
  coveredThrough: string,
): Promise<LogRow | undefined> {
  const { projects, keys, platform } = context.backups;
  const project = await projects.adopt(transaction, organizationId, body.database);
  if (await pitrStore.lock(transaction, organizationId, project.id)) return undefined;
  const now = platform.clock.now();
  return pitrStore.save(transaction, {
    projectId: project.id,
    organizationId,
    enabled: false,
    storageDestinationId: destinationId,
    retentionDays: 35,
    logId,
    database: body.database,
    envelope,
    keyId: (await keys.keyOf(transaction, organizationId, logId, envelope)) ?? '',
    manifestWritten: true,
    startedFrom: body.from,
    coveredThrough,
    createdAt: now,
    updatedAt: now,
  });
}
