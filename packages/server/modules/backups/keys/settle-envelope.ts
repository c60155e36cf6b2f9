import type { Envelope } from '@holdfast/engine';
import type { Transaction } from '../../../platform/database/database.ts';
import { Problem } from '../../../platform/problem.ts';
import type { BackupRow } from '../backup-store.ts';
import type { BackupsContext } from '../context.ts';
import { enqueueRewrap } from './backup-keys.ts';
import { isUnderKeyInUse } from './key-in-use.ts';

/** A data key as the manifest of a finished backup holds it. */
export interface WrappedKey {
  envelope: Envelope;
  dataKey: Uint8Array;
  /** Wrapped by the service while it made the backup; otherwise the backup was found like that. */
  isOurs: boolean;
}

/**
 * What comes into the row of a backup that is completed. The key that was in use when it began may have been replaced since,
 * and the rotation knew nothing of it; one that was withdrawn must not leave a backup that nobody can read. What builds on a
 * backup that a new key does not open stays with that under the former one, which opens both.
 */
export async function settleEnvelope(
  { keys, platform: { queue } }: Pick<BackupsContext, 'keys' | 'platform'>,
  transaction: Transaction,
  { organizationId, id, parentId }: BackupRow,
  { envelope, dataKey, isOurs }: WrappedKey,
): Promise<{ envelope: Envelope; keyId: string | null }> {
  const keyId = await keys.keyOf(transaction, organizationId, id, envelope);
  if (!isOurs) return { envelope, keyId: keyId ?? null };
  if (keyId === undefined)
    throw new Problem('DECRYPTION_ERROR', 'The key of this backup was withdrawn while it was made. Start it again.');
  const { ring, currentKeyId } = await keys.ring(transaction, organizationId);
  const stays = parentId !== null && !(await isUnderKeyInUse({ keys }, transaction, organizationId, [parentId]));
  if (keyId === currentKeyId || stays) return { envelope, keyId };
  const renewed = await ring.wrap(id, dataKey);
  await enqueueRewrap(queue, transaction, { organizationId, id, envelope: renewed });
  return { envelope: renewed, keyId: currentKeyId };
}
