import { createHash, randomBytes } from 'node:crypto';

/** 256 random bits, stored nowhere but in the mailed link. */
export function createInvitationToken(): string {
  return randomBytes(32).toString('base64url');
}

export function hashInvitationToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
