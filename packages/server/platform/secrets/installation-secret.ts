import { randomBytes } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { Database } from '../database/database.ts';
import { eq } from '../database/orm.ts';
import { installationSecrets } from '../database/tables.ts';
import { StartFailure } from '../start-failure.ts';
import type { MasterKeyring } from './master-keyring.ts';

export interface InstallationSecretOptions {
  database: Database;
  keyring: MasterKeyring;
  clock: Clock;
}

/** A random key that the whole installation shares: made by the first caller, and stored sealed. */
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
    return openInstallationSecret(keyring, name, kept.sealed);
  });
}

/** Every installation has some, so failing to open them means that the master key belongs to another installation. */
export function openInstallationSecret(keyring: MasterKeyring, name: string, sealed: string): Buffer {
  try {
    return keyring.open(sealed, installationSecretPurpose(name));
  } catch (error) {
    throw new StartFailure(
      'MASTER_KEY: what this database holds was sealed under another master key. Start with that one (in MASTER_KEY, or as master.key in the data folder), or, to change it, add it to MASTER_KEYS_PREVIOUS.',
      { cause: error },
    );
  }
}

export function installationSecretPurpose(name: string): string {
  return `installation_secrets:${name}`;
}
