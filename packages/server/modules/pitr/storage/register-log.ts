import { type BlobStore, isEngineError, type KeyRing, type LogSegment, openLogManifest } from '@holdfast/engine';
import type { Transaction } from '../../../platform/database/database.ts';
import { isLimitReached } from '../../organizations/index.ts';
import type { PitrContext } from '../context.ts';
import { removeLogJob } from '../jobs.ts';
import { logLockName } from '../log-access.ts';
import { type LogRow, pitrStore } from '../pitr-store.ts';
import { segmentStore } from '../segment-store.ts';
import { consecutiveSegments } from './consecutive-segments.ts';
import { type FoundLog, joinLog } from './join-log.ts';

interface Place {
  readonly organizationId: string;
  readonly destinationId: string;
  readonly store: BlobStore;
  readonly ring: KeyRing;
  readonly signal: AbortSignal;
}

/** The result for a log that was not in the catalogue. */
type Outcome =
  | { readonly registered: true }
  | { readonly joinedSegments: number }
  | { readonly fault: string }
  /** It is being removed. */
  | undefined;

/** Registers an unknown log. If its project already has one, that log takes the time that it lacks. */
export async function registerLog(context: PitrContext, place: Place, logId: string): Promise<Outcome> {
  const { database, queue } = context.backups.platform;
  // Holds back removals that are requested from now on; earlier ones are checked below.
  const release = await database.useLocks.hold([logLockName(logId, place.destinationId)]);
  try {
    const removals = await queue.open(removeLogJob);
    if (removals.some((removal) => removal.logId === logId)) return undefined;
    return await register(context, place, logId);
  } catch (error) {
    return { fault: faultOf(error, place.signal) };
  } finally {
    await release();
  }
}

async function register(context: PitrContext, place: Place, logId: string): Promise<Outcome> {
  const { organizationId, destinationId, store, ring, signal } = place;
  const manifest = await openLogManifest(store, logId, ring, { signal }).catch((error: unknown) => {
    // It was removed since it was listed.
    if (isEngineError(error, 'STORAGE_NOT_FOUND')) return undefined;
    throw error;
  });
  if (!manifest) return undefined;
  const described: LogSegment[] = [];
  for await (const segment of manifest.reader.describe({ signal })) described.push(segment);
  const { segments, coveredThrough } = consecutiveSegments(described, manifest.body.from);
  const found = { manifest, segments, coveredThrough };
  const other = await context.backups.platform.database.tenant(organizationId, async (transaction) => {
    const { row, isNew } = await insertLog(context, transaction, place, logId, found);
    if (!isNew) return row;
    const now = context.backups.platform.clock.now();
    for (const [index, segment] of segments.entries())
      await segmentStore.insert(transaction, { ...row, nextSequence: index }, segment, now);
    await pitrStore.update(transaction, organizationId, row.projectId, { nextSequence: segments.length });
    await context.backups.audit.noteSystem(transaction, organizationId, {
      action: 'pitr.log_registered',
      resource: { type: 'project', id: row.projectId },
      details: { logId, segments: segments.length, storageDestinationId: destinationId },
    });
    return undefined;
  });
  return other
    ? joinLog(context, other, { ...found, storageDestinationId: destinationId }, signal)
    : { registered: true };
}

/** The message of a permanent error; others are thrown. */
export function faultOf(error: unknown, signal: AbortSignal): string {
  if (isLimitReached(error)) return `${error.code}: ${error.message}`;
  if (!isEngineError(error) || error.retryable || signal.aborted) throw error;
  return `${error.code}: ${error.message}`;
}

/** The log of the project, which may be a different one that is already known. */
async function insertLog(
  context: PitrContext,
  transaction: Transaction,
  { organizationId, destinationId }: Place,
  logId: string,
  { manifest: { body, envelope }, coveredThrough }: Pick<FoundLog, 'manifest' | 'coveredThrough'>,
): Promise<{ row: LogRow; isNew: boolean }> {
  const { projects, keys, platform } = context.backups;
  const project = await projects.adopt(transaction, organizationId, body.database);
  const known = await pitrStore.lock(transaction, organizationId, project.id);
  if (known) return { row: known, isNew: false };
  const now = platform.clock.now();
  const row = await pitrStore.save(transaction, {
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
    joined: (body.joined ?? []).map((taken) => ({ ...taken, storageDestinationId: destinationId })),
    createdAt: now,
    updatedAt: now,
  });
  return { row, isNew: true };
}
