import { setTimeout as sleep } from 'node:timers/promises';
import { BackupReader, type BlobStore, isEngineError, type KeyRing } from '@holdfast/engine';
import { secondMs } from '../../../platform/durations.ts';
import { backupStore } from '../backup-store.ts';
import type { BackupsContext } from '../context.ts';
import { enqueueRewrap } from '../keys/backup-keys.ts';
import type { StoredFault } from '../tables.ts';

/** After a rotation or a move, manifests are rewrapped within seconds. */
const looksMax = 3;
const recheckMs = 2 * secondMs;

/**
 * Finds manifests whose own envelope no key opens. With the catalogue such a backup still reads, so nobody would
 * notice; with the bucket and the master key alone it could not be read. These manifests are reported and rewritten
 * from the catalogue.
 */
export async function checkManifestKeys(
  context: BackupsContext,
  organizationId: string,
  store: BlobStore,
  chain: readonly BackupReader[],
  signal: AbortSignal,
): Promise<StoredFault[]> {
  const { database, queue } = context.platform;
  const { ring } = await database.tenant(organizationId, (transaction) =>
    context.keys.ring(transaction, organizationId),
  );
  const findings: StoredFault[] = [];
  for (const { backupId } of chain) {
    if (await opensByItself(context, store, backupId, ring, signal)) continue;
    await database.tenant(organizationId, async (transaction) => {
      const row = await backupStore.findAny(transaction, organizationId, backupId);
      const envelope = row?.envelope;
      if (envelope) await enqueueRewrap(queue, transaction, { organizationId, id: backupId, envelope });
    });
    const message = `The key in the manifest of ${backupId} does not open: without the records of this service the backup could not be read. It is being written anew.`;
    findings.push({ code: 'INTEGRITY_ERROR', message, object: backupId });
  }
  return findings;
}

async function opensByItself(
  { engine: { codec } }: BackupsContext,
  store: BlobStore,
  backupId: string,
  keys: KeyRing,
  signal: AbortSignal,
): Promise<boolean> {
  for (let look = 1; ; look++) {
    try {
      await BackupReader.open({ store, backupId, keys, codec, signal });
      return true;
    } catch (error) {
      if (!isEngineError(error, 'DECRYPTION_ERROR') && !isEngineError(error, 'INTEGRITY_ERROR')) throw error;
      if (look === looksMax) return false;
      await sleep(recheckMs, undefined, { signal });
    }
  }
}
