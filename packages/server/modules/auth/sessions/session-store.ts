import type { Transaction } from '../../../platform/database/database.ts';
import { and, desc, eq, gt, isNull, lt } from '../../../platform/database/orm.ts';
import { refreshTokens, sessions, users } from '../tables.ts';

export type SessionRow = typeof sessions.$inferSelect;
type NewSession = Omit<SessionRow, 'revokedAt'>;
type RefreshTokenRow = typeof refreshTokens.$inferSelect;

/** Statements on sessions and the refresh tokens that keep them going. All need a system transaction. */

export async function insertSession({ orm }: Transaction, row: NewSession): Promise<void> {
  await orm.insert(sessions).values(row);
}

export async function insertRefreshToken(
  { orm }: Transaction,
  row: Omit<RefreshTokenRow, 'usedAt' | 'successor'>,
): Promise<void> {
  await orm.insert(refreshTokens).values(row);
}

/** Newest first, starting below the given id. */
export function listSessions(
  { orm }: Transaction,
  userId: string,
  { now, belowId, limit }: { now: Date; belowId: string | undefined; limit: number },
): Promise<SessionRow[]> {
  return orm
    .select()
    .from(sessions)
    .where(and(eq(sessions.userId, userId), isLive(now), belowId === undefined ? undefined : lt(sessions.id, belowId)))
    .orderBy(desc(sessions.id))
    .limit(limit);
}

export async function isSessionOpen({ orm }: Transaction, sessionId: string, now: Date): Promise<boolean> {
  const found = await orm
    .select({ id: sessions.id })
    .from(sessions)
    .where(and(eq(sessions.id, sessionId), isLive(now)));
  return found.length > 0;
}

/** False when this person has no such session, or it has already ended. */
export async function endSessionOf(
  { orm }: Transaction,
  userId: string,
  sessionId: string,
  now: Date,
): Promise<boolean> {
  const ended = await orm
    .update(sessions)
    .set({ revokedAt: now })
    .where(and(eq(sessions.id, sessionId), eq(sessions.userId, userId), isLive(now)))
    .returning({ id: sessions.id });
  return ended.length > 0;
}

export async function endSession({ orm }: Transaction, sessionId: string, now: Date): Promise<void> {
  await orm.update(sessions).set({ revokedAt: now }).where(eq(sessions.id, sessionId));
}

export async function extendSession(
  { orm }: Transaction,
  sessionId: string,
  { now, expiresAt }: { now: Date; expiresAt: Date },
): Promise<void> {
  await orm.update(sessions).set({ lastUsedAt: now, expiresAt }).where(eq(sessions.id, sessionId));
}

export async function noteSessionUse({ client }: Transaction, sessionId: string, now: Date): Promise<void> {
  await client.query('update sessions set last_used_at = $2 where id = $1 and last_used_at < $2', [sessionId, now]);
}

/**
 * Locks the token's row, which puts concurrent refreshes in order: the first one rotates, the others find its
 * successor.
 */
export async function lockRefreshToken({ orm }: Transaction, hash: string) {
  const [found] = await orm
    .select({ row: refreshTokens, session: sessions, holder: { id: users.id, email: users.email, name: users.name } })
    .from(refreshTokens)
    .innerJoin(sessions, eq(sessions.id, refreshTokens.sessionId))
    .innerJoin(users, eq(users.id, sessions.userId))
    .where(eq(refreshTokens.hash, hash))
    .for('update', { of: refreshTokens });
  return found;
}

export async function markRefreshTokenUsed(
  { orm }: Transaction,
  hash: string,
  { now, successor }: { now: Date; successor: string },
): Promise<void> {
  await orm.update(refreshTokens).set({ usedAt: now, successor }).where(eq(refreshTokens.hash, hash));
}

/** Forgets the successors of tokens used before then: replaying them is no longer harmless. */
export async function forgetSuccessors({ client }: Transaction, usedBefore: Date): Promise<void> {
  await client.query('update refresh_tokens set successor = null where successor is not null and used_at < $1', [
    usedBefore,
  ]);
}

function isLive(now: Date) {
  return and(isNull(sessions.revokedAt), gt(sessions.expiresAt, now));
}
