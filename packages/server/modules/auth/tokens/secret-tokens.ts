import { createHash, randomBytes } from 'node:crypto';

/** Distinguishes our tokens from others, and from one another. */
export const tokenPrefixes = { refresh: 'hfr_', code: 'hfc_', local: 'hfl_' } as const;

/** 256 random bits: too many to guess, so a plain hash of it can be stored. */
export function createSecretToken(prefix: string): string {
  return `${prefix}${randomBytes(32).toString('base64url')}`;
}

export function hashSecretToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
