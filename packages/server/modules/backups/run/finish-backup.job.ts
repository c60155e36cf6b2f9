import {
  BackupReader,
  backUpUsers,
  finishBackup,
  isEngineError,
  type ManifestBody,
  manifestKey,
  shardKey,
  type UserSection,
  type WrittenManifest,
} from '@holdfast/engine';
import type { RunningJob } from '../../../platform/queue.ts';
import { systemActor } from '../../audit/index.ts';
import { tellBackup } from '../backup-events.ts';
import { type BackupRow, backupStore, type NewBackup, type RangeRow, rangeStore } from '../backup-store.ts';
import { sharesOf } from '../contents/manifest-columns.ts';
import type { BackupsContext } from '../context.ts';
import { type LoadedBackup, loadBackup, openCopies } from '../load-backup.ts';
import type { CopiesStore } from '../storage/copies-store.ts';
import { removeUnlisted } from '../storage/remove-objects.ts';
import { warning } from '../warnings.ts';
import { admitBackups } from './admission.ts';
import { failBackup, mayPass } from './end-backup.ts';
import { keepWatch, reasonOf, Superseded } from './progress.ts';

type Job = RunningJob<{ organizationId: string; backupId: string }>;

/** Users, manifest, copies of the manifest, then the one transaction that calls the backup completed. */
export async function runFinish(context: BackupsContext, job: Job): Promise<void> {
  const { database } = context.platform;
  const { organizationId, backupId } = job.data;
  const start = await database.tenant(organizationId, async (transaction) => {
    const loaded = await loadBackup(context, transaction, organizationId, backupId);
    if (loaded?.row.status !== 'running' || !loaded.row.plan) return undefined;
    const ranges = await rangeStore.list(transaction, organizationId, backupId);
    return ranges.every((range) => range.isComplete) ? { loaded, ranges } : undefined;
  });
  if (!start) return;
  const watch = keepWatch(context, start.loaded.row);
  try {
    await finish(context, start.loaded, start.ranges, AbortSignal.any([job.signal, watch.signal]));
  } catch (error) {
    const reason = reasonOf(error);
    if (reason instanceof Superseded) return;
    if (job.signal.aborted) throw error;
    if (mayPass(reason) && job.attempt < context.platform.config.JOB_ATTEMPTS) throw reason;
    context.platform.log.warn({ err: reason, backupId }, 'a backup could not be finished');
    await failBackup(context, organizationId, backupId, reason);
  } finally {
    watch.end();
  }
  await admitBackups(context.platform);
}

async function finish(
  context: BackupsContext,
  loaded: LoadedBackup,
  ranges: readonly RangeRow[],
  signal: AbortSignal,
): Promise<void> {
  const { database, clock } = context.platform;
  const { row } = loaded;
  const { ring } = await database.tenant(row.organizationId, (transaction) =>
    context.keys.ring(transaction, row.organizationId),
  );
  const dataKey = await ring.unwrap(row.id, row.envelope);
  const store = await openCopies(context, loaded);
  try {
    const written = (await findManifest(context, store, row, ring, signal)) ?? (await writeIt());
    await replicateManifest(store, row.id, written.body, signal);
    const goodCopies = store.working.map((copy) => copy.storageDestinationId);
    await completeBackup(context, row, written, { ranges, goodCopies });
    if (ranges.some((range) => range.epoch > 1)) await removeUnlisted(store, written.body, signal);
  } finally {
    await store.close();
  }

  async function writeIt(): Promise<WrittenManifest> {
    const users = row.includeAuthUsers ? await readUsers(context, loaded, store, dataKey, signal) : undefined;
    return finishBackup({
      plan: row.plan!,
      store,
      dataKey,
      signal,
      ranges: ranges.map((range) => range.state!),
      envelope: row.envelope!,
      authUsers: users?.section ?? null,
      warnings: [...row.warnings, ...(users?.warnings ?? [])],
      completedAt: `${clock.now().toISOString().slice(0, -1)}000000Z`,
    });
  }
}

/** The manifest of an earlier attempt that died before it could say so. */
export async function findManifest(
  context: BackupsContext,
  store: CopiesStore,
  row: BackupRow,
  keys: Parameters<typeof BackupReader.open>[0]['keys'],
  signal: AbortSignal,
): Promise<WrittenManifest | undefined> {
  try {
    const reader = await BackupReader.open({ store, backupId: row.id, keys, codec: context.engine.codec, signal });
    return { body: reader.body, manifestSha256: reader.manifestSha256, storedBytes: reader.body.counts.storedBytes };
  } catch (error) {
    if (isEngineError(error, 'STORAGE_NOT_FOUND')) return undefined;
    throw error;
  }
}

async function readUsers(
  context: BackupsContext,
  loaded: LoadedBackup,
  store: CopiesStore,
  dataKey: Uint8Array,
  signal: AbortSignal,
): Promise<UserSection> {
  const firestore = await context.sources.open(loaded.project);
  try {
    const seal = { ownerId: loaded.row.id, dataKey, database: loaded.row.plan!.database };
    return await backUpUsers(firestore.authUsers, {
      store,
      codec: context.engine.codec,
      buffers: context.engine.buffers,
      context: seal,
      signal,
    });
  } finally {
    await firestore.close();
  }
}

/** The manifest is sealed once; every copy holds the very same bytes, so that increments fit on each of them. */
export async function replicateManifest(
  store: CopiesStore,
  backupId: string,
  body: ManifestBody,
  signal: AbortSignal,
): Promise<void> {
  const shards = body.shards.map(({ id }) => shardKey(backupId, id));
  await store.level([...shards, manifestKey(backupId)], { signal });
}

const collectionsCountedMax = 500;

/** The larger ones are enough to see that one of them shrank. */
function largeCollections(collections: ManifestBody['collections']): Record<string, number> {
  const largest = collections.filter(({ documents }) => documents > 1000).toSorted((a, b) => b.documents - a.documents);
  return Object.fromEntries(largest.slice(0, collectionsCountedMax).map(({ path, documents }) => [path, documents]));
}

export interface Completion {
  goodCopies: readonly string[];
  /** Absent for a backup that was made in one go. */
  ranges?: readonly RangeRow[];
  change?: Partial<NewBackup>;
}

/** The one transaction that calls a backup completed. Does nothing when it has ended otherwise in the meantime. */
export async function completeBackup(
  context: BackupsContext,
  before: BackupRow,
  written: WrittenManifest,
  { goodCopies, ranges = [], change = {} }: Completion,
): Promise<void> {
  const { database, clock, outbox } = context.platform;
  const { organizationId, id: backupId } = before;
  await database.tenant(organizationId, async (transaction) => {
    const loaded = await loadBackup(context, transaction, organizationId, backupId);
    const row = await backupStore.lock(transaction, organizationId, backupId);
    if (!loaded || row.status !== 'running') return;
    const { body } = written;
    const now = clock.now();
    const failed = loaded.copies.filter((copy) => !goodCopies.includes(copy.storageDestinationId));
    const primary = goodCopies.includes(row.storageDestinationId)
      ? row.storageDestinationId
      : (goodCopies[0] ?? row.storageDestinationId);
    const locks = goodCopies.flatMap((id) => loaded.destinations.get(id)?.objectLock?.days ?? []);
    const completed = await backupStore.update(transaction, organizationId, backupId, {
      status: 'completed',
      phase: 'Completed',
      percent: 100,
      completedAt: now,
      updatedAt: now,
      storageDestinationId: primary,
      documentCount: body.counts.documents,
      documentsDone: Math.max(row.documentsDone, body.counts.puts),
      size: body.counts.plainBytes,
      bytesDone: body.counts.plainBytes,
      compressedSize: written.storedBytes,
      collectionCount: body.collections.length,
      sha256: written.manifestSha256,
      readsUsed: row.readsUsed + ranges.reduce((sum, range) => sum + range.reads, 0),
      snapshots: sharesOf(body, ranges.length > 0 ? (range) => ranges[range]?.state?.documents ?? 0 : undefined),
      warnings: [
        ...body.warnings,
        ...failed.map(({ storageDestinationId, error }) =>
          warning('COPY_FAILED', `The copy in ${storageDestinationId} failed: ${error?.message ?? 'unknown reason'}`),
        ),
      ].map((text) => text.slice(0, 2000)),
      lockedUntil: locks.length > 0 ? new Date(now.getTime() + Math.max(...locks) * 86_400_000) : null,
      plan: null,
      collectionCounts: largeCollections(body.collections),
      ...change,
    });
    for (const id of goodCopies)
      await backupStore.updateCopy(transaction, organizationId, backupId, id, { status: 'completed', error: null });
    await rangeStore.clear(transaction, organizationId, backupId);
    const facts = { ...loaded, row: completed, destination: loaded.destinations.get(primary) };
    await tellBackup(outbox, transaction, 'backup.completed', facts);
    await context.onEnded(transaction, facts);
    await context.audit.write(transaction, {
      organizationId,
      action: 'backup.completed',
      actor: systemActor,
      resource: { type: 'backup', id: backupId },
      origin: null,
      details: { documents: body.counts.documents, bytes: body.counts.plainBytes },
    });
  });
}
