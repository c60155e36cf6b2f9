import { KeyRing } from '@holdfast/engine';
import { ringOf, secretOf, tryUnwrap } from '../backups/index.ts';
import type { Rewrap } from '../organizations/index.ts';
import { pitrStore } from './pitr-store.ts';

/**
 * Rewraps every log's key, in the transaction of the rotation. The manifest follows when capture begins again, or with
 * the maintenance task.
 */
export const rewrapLogs: Rewrap = async (transaction, organizationId, keys) => {
  const wrapping = new KeyRing([secretOf(keys.wrapWith)]);
  const anyKey = ringOf(keys.atHand);
  let rewrapped = 0;
  for (const { projectId, logId, envelope, keyId } of await pitrStore.envelopes(transaction, organizationId)) {
    if (keyId === keys.wrapWith.keyId) continue;
    const dataKey =
      keyId === ''
        ? await tryUnwrap(anyKey, logId, envelope)
        : await new KeyRing([secretOf(keys.open(keyId))]).unwrap(logId, envelope);
    if (dataKey === undefined) continue;
    const wrapped = await wrapping.wrap(logId, dataKey);
    // Releasing the lease makes the next holder write the manifest.
    const change = { envelope: wrapped, keyId: keys.wrapWith.keyId, manifestWritten: false, holder: null };
    await pitrStore.update(transaction, organizationId, projectId, change);
    rewrapped += 1;
  }
  return rewrapped;
};
