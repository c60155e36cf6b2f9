import { BackupReader, isEngineError, manifestKey, shardKey, type WrittenManifest } from '@holdfast/engine';
import type { BackupsContext } from '../context.ts';
import type { CopiesStore } from '../storage/copies-store.ts';

interface ManifestPlace {
  store: CopiesStore;
  backupId: string;
  keys: Parameters<typeof BackupReader.open>[0]['keys'];
  signal: AbortSignal;
}

/** Writes the manifest unless an earlier attempt wrote it and died before it could say so; then every copy gets the same bytes. */
export async function writeManifestOnce(
  context: BackupsContext,
  place: ManifestPlace,
  write: () => Promise<WrittenManifest>,
): Promise<WrittenManifest> {
  const written = (await findManifest(context, place)) ?? (await write());
  await replicateManifest(place, written);
  return written;
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

/** The manifest is sealed once; every copy holds the very same bytes, so that increments fit on each of them. */
async function replicateManifest({ store, backupId, signal }: ManifestPlace, { body }: WrittenManifest): Promise<void> {
  const shards = body.shards.map(({ id }) => shardKey(backupId, id));
  await store.level([...shards, manifestKey(backupId)], { signal });
}
