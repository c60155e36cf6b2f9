import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { eq } from 'drizzle-orm';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/database/database.ts';
import { installationSecrets } from '../../platform/database/tables.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import type { Checkpoint } from './audit-store.ts';

const name = 'audit checkpoints';

/**
 * Signs where retention cut a chain. The key is made once and kept sealed: unlike one derived from the master key
 * it outlives a change of the master key, and whoever can only write to the database cannot forge a cut.
 */
export class CheckpointSignatures {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #clock: Clock;
  #key: Promise<Buffer> | undefined;

  constructor(options: { database: Database; keyring: Keyring; clock: Clock }) {
    this.#database = options.database;
    this.#keyring = options.keyring;
    this.#clock = options.clock;
  }

  /** Reads the key, in a transaction of its own. Whoever signs inside a transaction does this before it begins. */
  async prepare(): Promise<void> {
    await this.#loadKey();
  }

  async sign(checkpoint: Omit<Checkpoint, 'signature'>): Promise<string> {
    const told = [
      'holdfast audit checkpoint',
      checkpoint.organizationId,
      checkpoint.position,
      checkpoint.hash,
      checkpoint.removedRows,
      checkpoint.createdAt.toISOString(),
    ];
    return createHmac('sha256', await this.#loadKey())
      .update(JSON.stringify(told))
      .digest('hex');
  }

  async isGenuine(checkpoint: Checkpoint): Promise<boolean> {
    const expected = Buffer.from(await this.sign(checkpoint));
    const given = Buffer.from(checkpoint.signature);
    return expected.length === given.length && timingSafeEqual(expected, given);
  }

  #loadKey(): Promise<Buffer> {
    this.#key ??= this.#readOrMakeKey().catch((error: unknown) => {
      this.#key = undefined;
      throw error;
    });
    return this.#key;
  }

  #readOrMakeKey(): Promise<Buffer> {
    const purpose = `installation_secrets:${name}`;
    return this.#database.system(async ({ orm }) => {
      const sealed = this.#keyring.seal(randomBytes(32), purpose);
      await orm
        .insert(installationSecrets)
        .values({ name, sealed, createdAt: this.#clock.now() })
        .onConflictDoNothing();
      const [kept] = await orm.select().from(installationSecrets).where(eq(installationSecrets.name, name));
      if (!kept) throw new Error('the key of audit checkpoints could not be read');
      return this.#keyring.open(kept.sealed, purpose);
    });
  }
}
