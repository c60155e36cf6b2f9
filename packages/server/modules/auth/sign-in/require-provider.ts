import type { Transaction } from '../../../platform/database/database.ts';
import type { Platform } from '../../../platform/platform.ts';
import { StartFailure } from '../../../platform/start-failure.ts';
import type { IdentityProvider } from './identity-provider.ts';

/**
 * Stops the start of a fresh installation whose issuer cannot be used, because nobody could sign in. An installation
 * that people already use starts all the same and logs it: backups do not wait for the provider.
 */
export async function requireProvider(
  { config, database, log }: Pick<Platform, 'config' | 'database' | 'log'>,
  provider: IdentityProvider | undefined,
  organizationsExist: (transaction: Transaction) => Promise<boolean>,
): Promise<void> {
  if (provider === undefined) return;
  const sentence = (reason: string) =>
    `The identity provider ${config.OIDC_ISSUER} cannot be used (${reason}): check OIDC_ISSUER and that it can be reached from here.`;
  if (await database.system(organizationsExist)) {
    void provider.trouble().then((reason) => reason !== undefined && log.warn(sentence(reason)));
    return;
  }
  const reason = await provider.trouble();
  if (reason !== undefined) throw new StartFailure(sentence(reason));
}
