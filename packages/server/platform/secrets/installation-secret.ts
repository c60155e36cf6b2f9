import { randomBytes } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { Database } from '../database/database.ts';
import { eq } from '../database/orm.ts';
import { installationSecrets } from '../database/tables.ts';
import type { Keyring } from './keyring.ts';

export interface InstallationSecretOptions {
  database: Database;
  keyring: Keyring;
  clock: Clock;
}

/** A random key that the whole installation shares: made by whoever asks first, and kept sealed. */
export function readInstallationSecret(
  { database, keyring, clock }: InstallationSecretOptions,
  name: string,
): Promise<Buffer> {
  const purpose = installationSecretPurpose(name);
  return database.system(async ({ orm }) => {
    const sealed = keyring.seal(randomBytes(32), purpose);
    await orm.insert(installationSecrets).values({ name, sealed, createdAt: clock.now() }).onConflictDoNothing();
    const [kept] = await orm.select().from(installationSecrets).where(eq(installationSecrets.name, name));
    if (!kept) throw new Error(`the secret of ${name} could not be read`);
    return keyring.open(kept.sealed, purpose);
  });
}

export function installationSecretPurpose(name: string): string {
  return `installation_secrets:${name}`;
}
