import type { Clock } from '../../../platform/clock.ts';
import type { Database, Transaction } from '../../../platform/database/database.ts';
import type { RequestOrigin } from '../../../platform/principal.ts';
import { Problem } from '../../../platform/problem.ts';
import type { MasterKeyring } from '../../../platform/secrets/master-keyring.ts';
import type { MembershipsOf } from '../memberships.ts';
import { createSecretToken, hashSecretToken, tokenPrefixes } from '../tokens/secret-tokens.ts';
import { endSession, extendSession, lockRefreshToken, markRefreshTokenUsed } from './session-store.ts';
import type { Holder, Sessions, TokenPair } from './sessions.ts';

/**
 * Two tabs may refresh at once, and an answer may get lost: for this long a used token still leads to the same
 * successor.
 */
export const graceMs = 20_000;

export interface RefreshOptions {
  database: Database;
  clock: Clock;
  keyring: MasterKeyring;
  sessions: Sessions;
  membershipsOf: MembershipsOf;
}

interface Renewal {
  holder: Holder;
  sessionId: string;
  refreshToken: string;
  organizations: string[];
}

/**
 * Exchanges a refresh token for the next pair. Used again within the grace period it gives the same successor. Used
 * later, somebody else must have a copy, so the whole family ends.
 */
export async function refreshSession(
  options: RefreshOptions,
  token: string,
  origin: RequestOrigin,
): Promise<TokenPair> {
  // The time of arrival counts: a slow database must not make the second of two tabs look like a thief.
  const arrivedAt = options.clock.now();
  const renewal = token.startsWith(tokenPrefixes.refresh)
    ? await options.database.system((transaction) => renew(options, transaction, token, arrivedAt, origin))
    : undefined;
  if (!renewal) throw new Problem('UNAUTHORIZED', 'The refresh token is not valid. Sign in again.');
  const { holder, sessionId, refreshToken, organizations } = renewal;
  return { ...(await options.sessions.sign(holder, sessionId, organizations)), refreshToken };
}

/** Undefined for an invalid token. It does not throw, because the end of a family has to be committed. */
async function renew(
  options: RefreshOptions,
  transaction: Transaction,
  token: string,
  arrivedAt: Date,
  origin: RequestOrigin,
): Promise<Renewal | undefined> {
  const hash = hashSecretToken(token);
  const found = await lockRefreshToken(transaction, hash);
  if (!found || found.session.revokedAt || found.session.expiresAt <= arrivedAt) return undefined;
  const { row, session, holder } = found;
  if (row.usedAt === null && row.expiresAt <= arrivedAt) return undefined;
  if (row.usedAt !== null && (arrivedAt.getTime() - row.usedAt.getTime() > graceMs || !row.successor)) {
    await endFamily(options, transaction, session.id, holder, origin);
    return undefined;
  }
  const refreshToken = row.successor
    ? options.keyring.openText(row.successor, successorPurpose(hash))
    : await rotate(options, transaction, hash, session.id);
  const memberships = await options.membershipsOf(transaction, holder.id, { hold: false });
  return { holder, sessionId: session.id, refreshToken, organizations: memberships.map(({ id }) => id) };
}

async function rotate(
  { clock, keyring, sessions: family }: RefreshOptions,
  transaction: Transaction,
  hash: string,
  sessionId: string,
): Promise<string> {
  const now = clock.now();
  const successor = createSecretToken(tokenPrefixes.refresh);
  const sealed = keyring.seal(successor, successorPurpose(hash));
  await markRefreshTokenUsed(transaction, hash, { now, successor: sealed });
  await family.addRefreshToken(transaction, sessionId, successor, now);
  await extendSession(transaction, sessionId, { now, expiresAt: family.sessionEnd(now) });
  return successor;
}

async function endFamily(
  options: RefreshOptions,
  transaction: Transaction,
  sessionId: string,
  holder: Holder,
  origin: RequestOrigin,
): Promise<void> {
  await endSession(transaction, sessionId, options.clock.now());
  await options.sessions.auditInOrganizations(transaction, holder, origin, 'auth.refresh_reused', sessionId);
}

export function successorPurpose(hash: string): string {
  return `refresh_tokens.successor:${hash}`;
}
