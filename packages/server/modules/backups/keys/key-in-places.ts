import { BackupReader, type Envelope, isEngineError, type KeyRing } from '@holdfast/engine';
import type { DestinationRow } from '../../storage/index.ts';
import type { BackupsContext } from '../context.ts';
import { type LoadedBackup, loadBackup } from '../load-backup.ts';
import { BackupKeyRing, openedBy } from './backup-keys.ts';
import { rewrapCopy } from './rewrap-manifest.job.ts';

/**
 * The first of a chain whose manifest, as it lies in one of the destinations of a backup, does not open with the key that a customer
 * gave, or with none of the organization's own: a passphrase, or a recovery kit, is to open what is made from now on. The catalogue has
 * the envelope of a rotation or a move at once, the manifests follow; one that a lock or a rule of its bucket keeps as it is does not.
 * Those that may be written follow here.
 */
export async function underFormerKey(
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
    // Where nothing is locked, the service's own keys have long followed.
    if (!destination || !(isRead || ring.isCustomers || destination.objectLock)) continue;
    try {
      const behind = await firstBehind(context, destination, chain, { isRead, isEnough, signal });
      if (behind !== undefined) return behind;
    } catch (error) {
      // Another place that cannot be read now gets no copy either, or says so itself.
      if (isRead || signal.aborted) throw error;
    }
  }
  return undefined;
}

interface Look {
  isRead: boolean;
  /** Whether a former envelope is as good as the one in the catalogue. */
  isEnough: (backupId: string, there: Envelope) => boolean | Promise<boolean>;
  signal: AbortSignal;
}

async function isOpenedBy(ring: KeyRing, backupId: string, there: Envelope): Promise<boolean> {
  return (await openedBy(ring, backupId, there)) !== undefined;
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

/** The job of the rotation was quicker. */
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
  const store = await context.stores.open(destination);
  try {
    return (await BackupReader.open({ store, backupId, keys, codec: context.engine.codec, signal })).envelope;
  } finally {
    await store.close();
  }
}
