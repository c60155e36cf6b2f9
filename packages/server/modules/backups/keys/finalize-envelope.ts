import type { Envelope } from '@holdfast/engine';
import type { Transaction } from '../../../platform/database/database.ts';
import { Problem } from '../../../platform/problem.ts';
import type { BackupRow } from '../backup-store.ts';
import type { BackupsContext } from '../context.ts';
import { enqueueRewrap } from './backup-keys.ts';
import { isUnderKeyInUse } from './key-in-use.ts';

/** The data key of a finished backup, as its manifest holds it. */
export interface WrappedKey {
  envelope: Envelope;
  dataKey: Uint8Array;
  /** True when the service wrapped it while making the backup; false when the backup was found like this. */
  isOurs: boolean;
}

/**
 * The envelope that a completed backup gets in its row. The key may have been replaced since the backup began, and the
 * rotation did not know of it; a withdrawn key must not leave a backup that nobody can read. When the parent is still
 * wrapped with the former key, the increment stays with that key too: it opens both.
 */
export async function finalizeEnvelope(
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
