/** How Google hides password hashes from credentials that may not see them. */

import type { AuthHashConfiguration, AuthUser } from '../../../ports/index.ts';

/** The word REDACTED in base64 stands where the hash would be. */
const redactedHash = 'UkVEQUNURUQ=';
/** Stands for parameters that these credentials may not see. */
export const unknownAlgorithm = 'UNKNOWN';

export function hasPasswordSignIn(user: AuthUser): boolean {
  if (typeof user.passwordHash === 'string' && user.passwordHash !== '') return true;
  const providers = Array.isArray(user.providerUserInfo) ? (user.providerUserInfo as { providerId?: string }[]) : [];
  return providers.some((provider) => provider.providerId === 'password');
}

/** True when the user has a password whose hash was not returned. */
export function isRedacted(user: AuthUser): boolean {
  if (!hasPasswordSignIn(user)) return false;
  return typeof user.passwordHash !== 'string' || user.passwordHash === '' || user.passwordHash === redactedHash;
}

/** True when the password cannot be restored: its hash was not returned, or nobody knows how it was made. */
export function isPasswordLost(user: AuthUser, { algorithm }: AuthHashConfiguration): boolean {
  return isRedacted(user) || (algorithm === unknownAlgorithm && hasPasswordSignIn(user));
}
