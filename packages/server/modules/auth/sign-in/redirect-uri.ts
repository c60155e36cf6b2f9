import { invalid } from '../../../platform/problem.ts';

/** As it is written, so that nothing that only looks like loopback passes. */
const loopback = /^http:\/\/127\.0\.0\.1:[1-9]\d{0,4}\/signed-in$/;

/** A program on the person's own machine, such as the command line. Its port is whatever was free (RFC 8252, 7.3). */
export function isLoopback(redirectUri: string): boolean {
  return loopback.test(redirectUri) && URL.canParse(redirectUri);
}

/**
 * What the operator lists is allowed, character by character. Loopback is always on the list, but a code for it is bound to
 * a verifier: who else listens on that machine, or reads the browser's history, has nothing of it.
 */
export function requireRedirectUri(
  redirectUri: string,
  codeChallenge: string | undefined,
  allowed: readonly string[],
): void {
  if (allowed.includes(redirectUri)) return;
  if (!isLoopback(redirectUri)) throw invalid('redirect_uri', 'is not on the list of allowed addresses');
  if (codeChallenge === undefined) throw invalid('code_challenge', 'is required with an address on loopback');
}
