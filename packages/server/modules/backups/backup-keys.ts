import { KeyRing, type Secret } from '@holdfast/engine';
import { and, eq, isNotNull, isNull } from 'drizzle-orm';
import type { Transaction } from '../../platform/database/database.ts';
import type { Queue } from '../../platform/queue.ts';
import type { OrganizationKey, OrganizationKeys, Rewrap } from '../organizations/index.ts';
import type { BackupKeys } from './context.ts';
import { rewrapManifestJob } from './jobs.ts';
import { backups } from './tables.ts';

/** An organization's key as the backup format wraps with it: a passphrase stays one, so that the customer alone can open the backup. */
export function secretOf({ key, derivation }: OrganizationKey): Secret {
  return derivation ? { derived: key, salt: derivation.salt, iterations: derivation.iterations } : { key };
}

export function createBackupKeys(organizationKeys: OrganizationKeys): BackupKeys {
  return {
    ring: async (transaction, organizationId) => {
      const current = await organizationKeys.current(transaction, organizationId);
      const others = (await organizationKeys.available(transaction, organizationId)).filter(
        ({ keyId }) => keyId !== current.keyId,
      );
      return { ring: new KeyRing([current, ...others].map(secretOf)), currentKeyId: current.keyId };
    },
  };
}

/** Wraps every backup's data key anew, in the transaction of the rotation; the manifests in the buckets follow as jobs. */
export function rewrapBackups(queue: Queue): Rewrap {
  return async (transaction: Transaction, organizationId, keys) => {
    const wrapping = new KeyRing([secretOf(keys.wrapWith)]);
    const rows = await transaction.orm
      .select({ id: backups.id, envelope: backups.envelope, keyId: backups.keyId })
      .from(backups)
      .where(and(eq(backups.organizationId, organizationId), isNull(backups.deletedAt), isNotNull(backups.envelope)));
    let rewrapped = 0;
    for (const row of rows) {
      if (row.keyId === null || row.keyId === keys.wrapWith.keyId) continue;
      const dataKey = await new KeyRing([secretOf(keys.open(row.keyId))]).unwrap(row.id, row.envelope);
      const envelope = await wrapping.wrap(row.id, dataKey);
      await transaction.orm.update(backups).set({ envelope, keyId: keys.wrapWith.keyId }).where(eq(backups.id, row.id));
      await queue.enqueue(transaction, rewrapManifestJob, { organizationId, backupId: row.id }, { key: row.id });
      rewrapped++;
    }
    return rewrapped;
  };
}
