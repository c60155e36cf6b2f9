/** How Google hides password hashes from credentials that may not see them. */

import type { AuthUser } from '../../../ports/index.ts';

/** The word REDACTED in base64 stands where the hash would be. */
const redactedHash = 'UkVEQUNURUQ=';

export function hasPasswordSignIn(user: AuthUser): boolean {
  if (typeof user.passwordHash === 'string' && user.passwordHash !== '') return true;
  const providers = Array.isArray(user.providerUserInfo) ? (user.providerUserInfo as { providerId?: string }[]) : [];
  return providers.some((provider) => provider.providerId === 'password');
}

/** True when the user signs in with a password whose hash did not come along. */
export function isRedacted(user: AuthUser): boolean {
  if (!hasPasswordSignIn(user)) return false;
  return typeof user.passwordHash !== 'string' || user.passwordHash === '' || user.passwordHash === redactedHash;
}
