import { BackupReader, type Envelope, isEngineError, type KeyRing } from '@holdfast/engine';
import { type DestinationRow, withStore } from '../../storage/index.ts';
import type { BackupsContext } from '../context.ts';
import { type LoadedBackup, loadBackup } from '../load-backup.ts';
import { BackupKeyRing, tryUnwrap } from './backup-keys.ts';
import { rewrapCopy } from './rewrap-manifest.job.ts';

/**
 * Finds the first backup of a chain whose manifest, in one of the destinations, is still wrapped with a former key. A
 * new increment must not build on it: a customer's passphrase or a recovery kit has to open everything that is made
 * from now on. After a rotation or a move the catalogue has the new envelope at once, and the manifests follow; a lock
 * or a rule of the bucket can keep a manifest as it is. Manifests that may be written are rewrapped here.
 */
export async function firstUnderFormerKey(
  context: BackupsContext,
  { row, copies, destinations }: LoadedBackup,
  chain: readonly BackupReader[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const { database } = context.platform;
  const { organizationId, storageDestinationId: readFrom } = row;
  const ring = await database.tenant(organizationId, (transaction) => context.keys.ring(transaction, organizationId));
  const isEnough = (backupId: string, there: Envelope) => !ring.isCustomers && isOpenedBy(ring.ring, backupId, there);
  for (const { storageDestinationId } of copies) {
    const destination = destinations.get(storageDestinationId);
    const isRead = storageDestinationId === readFrom;
    // Without a lock the service's own keys have been rewrapped there long ago.
    if (!destination || !(isRead || ring.isCustomers || destination.objectLock)) continue;
    try {
      const behind = await firstBehind(context, destination, chain, { isRead, isEnough, signal });
      if (behind !== undefined) return behind;
    } catch (error) {
      // A destination that cannot be read now will get no copy of the increment either, or will report the error
      // itself.
      if (isRead || signal.aborted) throw error;
    }
  }
  return undefined;
}

interface Look {
  isRead: boolean;
  /** Whether an older envelope than the catalogue's is good enough. */
  isEnough: (backupId: string, there: Envelope) => boolean | Promise<boolean>;
  signal: AbortSignal;
}

async function isOpenedBy(ring: KeyRing, backupId: string, there: Envelope): Promise<boolean> {
  return (await tryUnwrap(ring, backupId, there)) !== undefined;
}

async function firstBehind(
  context: BackupsContext,
  destination: DestinationRow,
  chain: readonly BackupReader[],
  { isRead, isEnough, signal }: Look,
): Promise<string | undefined> {
  const { organizationId } = destination;
  for (const reader of chain) {
    const { backupId } = reader;
    const base = await context.platform.database.tenant(organizationId, (transaction) =>
      loadBackup(context, transaction, organizationId, backupId),
    );
    const envelope = base?.row.envelope;
    if (!envelope) continue;
    const there = isRead ? reader.envelope : await envelopeIn(context, destination, backupId, signal);
    if (there.wrapped === envelope.wrapped || (await isEnough(backupId, there))) continue;
    const wrapped = { envelope, dataKey: reader.context.dataKey };
    const isDone = await rewrapCopy(context, base.row, destination, wrapped, signal).catch(asWrittenByTheJob);
    if (!isDone) return backupId;
  }
  return undefined;
}

/** The job of the rotation has written the manifest first. */
function asWrittenByTheJob(error: unknown): true {
  if (isEngineError(error, 'STORAGE_CONFLICT')) return true;
  throw error;
}

async function envelopeIn(
  context: BackupsContext,
  destination: DestinationRow,
  backupId: string,
  signal: AbortSignal,
): Promise<Envelope> {
  const keys = await BackupKeyRing.load(context, destination.organizationId);
  const { codec } = context.engine;
  return await withStore(context.stores, destination, async (store) => {
    const { envelope } = await BackupReader.open({ store, backupId, keys, codec, signal });
    return envelope;
  });
}
