import { createHash } from 'node:crypto';
import { type Envelope, isEngineError, KeyRing, type Secret } from '@holdfast/engine';
import type { Transaction } from '../../../platform/database/database.ts';
import type { Queue } from '../../../platform/queue.ts';
import type { OrganizationKey, OrganizationKeys, Rewrap } from '../../organizations/index.ts';
import type { DestinationRow } from '../../storage/index.ts';
import { type BackupRow, backupStore } from '../backup-store.ts';
import type { BackupKeys, BackupsContext } from '../context.ts';
import { type MovedFrom, rewrapManifestJob } from '../jobs.ts';
import { copyStore } from '../storage/copy-store.ts';

/**
 * An organization's key as a secret of the backup format. A passphrase stays a passphrase, so that the customer can
 * open the backup with it alone.
 */
export function secretOf({ key, derivation }: OrganizationKey): Secret {
  return derivation ? { derived: key, salt: derivation.salt, iterations: derivation.iterations } : { key };
}

/**
 * All secrets of these keys. Backups of another service have their own salts, which only the passphrase itself fits.
 */
export function ringOf(keys: readonly OrganizationKey[]): KeyRing {
  const passphrases = keys.flatMap(({ passphrase }): Secret[] => (passphrase === null ? [] : [{ passphrase }]));
  return new KeyRing([...keys.map(secretOf), ...passphrases]);
}

/** The data key; undefined when the ring does not open the envelope. */
export async function tryUnwrap(ring: KeyRing, ownerId: string, envelope: unknown): Promise<Uint8Array | undefined> {
  try {
    return await ring.unwrap(ownerId, envelope);
  } catch (error) {
    if (!isEngineError(error, 'DECRYPTION_ERROR') && !isEngineError(error, 'INTEGRITY_ERROR')) throw error;
    return undefined;
  }
}

export function createBackupKeys(organizationKeys: OrganizationKeys, isTaken: BackupKeys['isTaken']): BackupKeys {
  return {
    ring: async (transaction, organizationId) => {
      const { current, others } = await organizationKeys.currentAndOthers(transaction, organizationId);
      const ring = ringOf([current, ...others]);
      return { ring, currentKeyId: current.keyId, isCustomers: current.kind !== 'service' };
    },
    kept: (transaction, organizationId) => organizationKeys.kept(transaction, organizationId),
    adopt: (transaction, organizationId, keys) => organizationKeys.adopt(transaction, organizationId, keys),
    isTaken,
    keyOf: async (transaction, organizationId, ownerId, envelope) => {
      for (const key of await organizationKeys.available(transaction, organizationId))
        if (await tryUnwrap(new KeyRing([secretOf(key)]), ownerId, envelope)) return key.keyId;
      return undefined;
    },
  };
}

/**
 * The organization's keys, with the envelopes of the catalogue as a fallback: right after a rotation or a move the
 * manifest in the bucket still has its former envelope, while the row has the new one.
 */
export class BackupKeyRing extends KeyRing {
  readonly #ring: KeyRing;
  readonly #envelopeOf: (backupId: string) => Promise<unknown>;

  private constructor(ring: KeyRing, envelopeOf: (backupId: string) => Promise<unknown>) {
    super([]);
    this.#ring = ring;
    this.#envelopeOf = envelopeOf;
  }

  static async load(
    context: Pick<BackupsContext, 'platform' | 'keys'>,
    organizationId: string,
  ): Promise<BackupKeyRing> {
    return context.platform.database.tenant(organizationId, (transaction) =>
      BackupKeyRing.loadIn(context, transaction, organizationId),
    );
  }

  /** With the keys as this transaction sees them. */
  static async loadIn(
    { platform: { database }, keys }: Pick<BackupsContext, 'platform' | 'keys'>,
    transaction: Transaction,
    organizationId: string,
  ): Promise<BackupKeyRing> {
    const { ring } = await keys.ring(transaction, organizationId);
    return new BackupKeyRing(ring, (backupId) =>
      database.tenant(
        organizationId,
        async (transaction) => (await backupStore.findAny(transaction, organizationId, backupId))?.envelope,
      ),
    );
  }

  override wrap(ownerId: string, dataKey: Uint8Array) {
    return this.#ring.wrap(ownerId, dataKey);
  }

  override async unwrap(ownerId: string, given: unknown): Promise<Uint8Array> {
    try {
      return await this.#ring.unwrap(ownerId, given);
    } catch (error) {
      // A malformed envelope is as useless as one that does not fit.
      const isUseless = isEngineError(error, 'DECRYPTION_ERROR') || isEngineError(error, 'INTEGRITY_ERROR');
      const envelope = isUseless ? await this.#envelopeOf(ownerId) : undefined;
      if (!envelope) throw error;
      return await this.#ring.unwrap(ownerId, envelope);
    }
  }
}

/**
 * Writes the catalogue's envelope into the manifests of all copies. The job's key names the envelope, so that a job for
 * an earlier envelope never swallows this one.
 */
export async function enqueueRewrap(
  queue: Queue,
  transaction: Transaction,
  {
    organizationId,
    id,
    envelope,
    movedFrom,
    newPlace,
  }: { organizationId: string; id: string; envelope: Envelope; movedFrom?: MovedFrom; newPlace?: string },
): Promise<void> {
  const name = createHash('sha256').update(envelope.wrapped).digest('hex').slice(0, 16);
  const key = [id, name, newPlace ?? []].flat().join('/');
  await queue.enqueue(transaction, rewrapManifestJob, { organizationId, backupId: id, movedFrom }, { key });
}

/** A copy was added to the catalogue with a manifest from before a rotation, which knew only the other places. */
export async function rewrapIfOlder(
  queue: Queue,
  transaction: Transaction,
  { organizationId, id: newPlace }: DestinationRow,
  { id, envelope }: Pick<BackupRow, 'id' | 'envelope'>,
  there: Envelope | undefined,
): Promise<void> {
  if (!envelope || !there || envelope.wrapped === there.wrapped) return;
  await enqueueRewrap(queue, transaction, { organizationId, id, envelope, newPlace });
}

/** Updates the manifests in a destination that could not be written during a rotation, as after a move. */
export function rewrapManifestsIn(queue: Queue) {
  return async (transaction: Transaction, destination: DestinationRow): Promise<void> => {
    const { organizationId } = destination;
    const lyingThere = new Set((await copyStore.completedIn(transaction, destination)).map(({ id }) => id));
    for (const { id, envelope } of await backupStore.envelopes(transaction, organizationId))
      if (envelope && lyingThere.has(id)) await enqueueRewrap(queue, transaction, { organizationId, id, envelope });
  };
}

/** Rewraps every backup's data key, in the transaction of the rotation. The manifests in the buckets follow as jobs. */
export function rewrapBackups(queue: Queue): Rewrap {
  return async (transaction: Transaction, organizationId, keys) => {
    const wrapping = new KeyRing([secretOf(keys.wrapWith)]);
    const anyKey = ringOf(keys.atHand);
    const rows = await backupStore.envelopes(transaction, organizationId);
    let rewrapped = 0;
    for (const row of rows) {
      if (row.keyId === keys.wrapWith.keyId) continue;
      const dataKey =
        row.keyId === null
          ? await tryUnwrap(anyKey, row.id, row.envelope)
          : await new KeyRing([secretOf(keys.open(row.keyId))]).unwrap(row.id, row.envelope);
      if (dataKey === undefined) continue;
      const envelope = await wrapping.wrap(row.id, dataKey);
      await backupStore.setEnvelope(transaction, organizationId, row.id, { envelope, keyId: keys.wrapWith.keyId });
      await enqueueRewrap(queue, transaction, { organizationId, id: row.id, envelope });
      rewrapped++;
    }
    return rewrapped;
  };
}
