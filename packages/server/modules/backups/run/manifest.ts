import { BackupReader, isEngineError, manifestKey, shardKey, type WrittenManifest } from '@holdfast/engine';
import { type BackupRow, backupStore } from '../backup-store.ts';
import type { BackupsContext } from '../context.ts';
import { removeObjectsJob } from '../jobs.ts';
import type { CopiesStore } from '../storage/copies-store.ts';

interface ManifestPlace {
  store: CopiesStore;
  backupId: string;
  keys: Parameters<typeof BackupReader.open>[0]['keys'];
  signal: AbortSignal;
  /** Called before this run writes the manifest. */
  onWrite(): void;
}

/**
 * Writes the manifest, unless an earlier attempt wrote it and died before it could report so. Then copies the same
 * bytes to every destination.
 */
export async function writeManifestOnce(
  context: BackupsContext,
  place: ManifestPlace,
  write: () => Promise<WrittenManifest>,
): Promise<WrittenManifest> {
  const written = (await findManifest(context, place)) ?? (await writeNow(place, write));
  await replicateManifest(place, written);
  return written;
}

function writeNow({ onWrite }: ManifestPlace, write: () => Promise<WrittenManifest>): Promise<WrittenManifest> {
  onWrite();
  return write();
}

/**
 * The backup was cancelled or timed out while this run wrote its manifest. Removes the manifest, so that no rescan
 * takes the cancelled backup for a finished one. A job removes the other objects, and a manifest that is locked or out
 * of reach.
 */
export async function withdrawManifest(context: BackupsContext, backup: BackupRow, store: CopiesStore): Promise<void> {
  const { database, queue, log } = context.platform;
  const { organizationId, id: backupId } = backup;
  const find = () =>
    database.tenant(organizationId, (transaction) => backupStore.find(transaction, organizationId, backupId));
  try {
    const row = await find();
    if (row?.status !== 'failed' && row?.status !== 'cancelled') return;
    const rest = { organizationId, backupId, isWithdrawn: true };
    await database.tenant(organizationId, (transaction) =>
      queue.enqueue(transaction, removeObjectsJob, rest, { key: `${backupId}/withdrawn` }),
    );
    await store.delete([manifestKey(backupId)]);
  } catch (error) {
    log.warn({ err: error, backupId }, 'the manifest of a backup that was called off could not be removed');
  }
}

async function findManifest(context: BackupsContext, place: ManifestPlace): Promise<WrittenManifest | undefined> {
  try {
    const { body, manifestSha256 } = await BackupReader.open({ ...place, codec: context.engine.codec });
    return { body, manifestSha256, storedBytes: body.counts.storedBytes };
  } catch (error) {
    if (isEngineError(error, 'STORAGE_NOT_FOUND')) return undefined;
    throw error;
  }
}

/** The manifest is sealed once, and every copy holds the same bytes, so that increments fit on each of them. */
async function replicateManifest({ store, backupId, signal }: ManifestPlace, { body }: WrittenManifest): Promise<void> {
  const shards = body.shards.map(({ id }) => shardKey(backupId, id));
  await store.replicate([...shards, manifestKey(backupId)], { signal });
}
