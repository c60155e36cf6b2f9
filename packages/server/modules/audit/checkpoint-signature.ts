import { createHmac, timingSafeEqual } from 'node:crypto';
import { type InstallationSecretOptions, readInstallationSecret } from '../../platform/secrets/installation-secret.ts';
import type { Checkpoint } from './audit-store.ts';

const secretName = 'audit checkpoints';

/**
 * Signs where retention cut a chain. The key is made once and stored sealed: it outlives a change of the master key,
 * and a person who can only write to the database cannot forge a cut.
 */
export class CheckpointSignatures {
  readonly #options: InstallationSecretOptions;
  #key: Promise<Buffer> | undefined;

  constructor(options: InstallationSecretOptions) {
    this.#options = options;
  }

  /** Reads the key in its own transaction; call it before a transaction that signs. */
  async prepare(): Promise<void> {
    await this.#loadKey();
  }

  async sign(checkpoint: Omit<Checkpoint, 'signature'>): Promise<string> {
    const signed = [
      'holdfast audit checkpoint',
      checkpoint.organizationId,
      checkpoint.position,
      checkpoint.hash,
      checkpoint.removedRows,
      checkpoint.createdAt.toISOString(),
    ];
    return createHmac('sha256', await this.#loadKey())
      .update(JSON.stringify(signed))
      .digest('hex');
  }

  async isGenuine(checkpoint: Checkpoint): Promise<boolean> {
    const expected = Buffer.from(await this.sign(checkpoint));
    const given = Buffer.from(checkpoint.signature);
    return expected.length === given.length && timingSafeEqual(expected, given);
  }

  #loadKey(): Promise<Buffer> {
    this.#key ??= readInstallationSecret(this.#options, secretName).catch((error: unknown) => {
      this.#key = undefined;
      throw error;
    });
    return this.#key;
  }
}
