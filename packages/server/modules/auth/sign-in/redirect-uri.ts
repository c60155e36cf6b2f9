import { invalid } from '../../../platform/problem.ts';

/** Matches the exact text, so that nothing that only looks like loopback passes. */
const loopback = /^http:\/\/127\.0\.0\.1:[1-9]\d{0,4}\/signed-in$/;

/** A program on the person's own machine, such as the command line. It uses any free port (RFC 8252, 7.3). */
export function isLoopback(redirectUri: string): boolean {
  return loopback.test(redirectUri) && URL.canParse(redirectUri);
}

/**
 * Allows what the operator lists, character by character. Loopback is always allowed, but its code is bound to a
 * verifier: other programs on that machine, or readers of the browser's history, cannot use it.
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
