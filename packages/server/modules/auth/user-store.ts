import type { Transaction } from '../../platform/database/database.ts';
import { asc, eq, isNull } from '../../platform/database/orm.ts';
import { holdLock } from '../../platform/database/transaction-statements.ts';
import type { Ids } from '../../platform/ids.ts';
import type { MasterKeyring } from '../../platform/secrets/master-keyring.ts';
import type { ProviderIdentity } from './sign-in/provider-identity.ts';
import { users } from './tables.ts';

export type UserRow = typeof users.$inferSelect;

export const localOwner = { email: 'owner@holdfast.local', name: 'Owner' } as const;

export async function findUser({ orm }: Transaction, userId: string): Promise<UserRow | undefined> {
  const [row] = await orm.select().from(users).where(eq(users.id, userId));
  return row;
}

export async function isKnown({ orm }: Transaction, providerSubject: string): Promise<boolean> {
  const found = await orm.select({ id: users.id }).from(users).where(eq(users.providerSubject, providerSubject));
  return found.length > 0;
}

export async function usersExist({ orm }: Transaction): Promise<boolean> {
  return (await orm.select({ id: users.id }).from(users).limit(1)).length > 0;
}

/** Serializes the first sign-ins of new people. */
export async function lockSignUps(transaction: Transaction): Promise<void> {
  await holdLock(transaction, 'sign-up');
}

/** The person of an identity, created on first sign-in. The e-mail address never decides who somebody is. */
export async function findOrCreateUser(
  { orm }: Transaction,
  identity: ProviderIdentity,
  now: Date,
  ids: Ids,
  keyring: MasterKeyring,
): Promise<UserRow> {
  const profile = {
    email: identity.email,
    emailVerified: identity.emailVerified,
    name: identity.name,
    picture: identity.picture,
    updatedAt: now,
  };
  const [row] = await orm
    .insert(users)
    .values({ id: ids.next('usr'), providerSubject: identity.subject, createdAt: now, ...profile })
    .onConflictDoUpdate({ target: users.providerSubject, set: profile })
    .returning();
  if (!row) throw new Error('a person could not be kept');
  // A provider that returns no new refresh token leaves the one from the last consent valid.
  if (identity.refreshToken === null) return row;
  const providerRefreshToken = keyring.seal(identity.refreshToken, refreshTokenPurpose(row.id));
  await orm.update(users).set({ providerRefreshToken }).where(eq(users.id, row.id));
  return { ...row, providerRefreshToken };
}

/** The one person of the local sign-in link, who has no identity at a provider. */
export async function findOrCreateLocalOwner(transaction: Transaction, now: Date, ids: Ids): Promise<UserRow> {
  const { orm } = transaction;
  await holdLock(transaction, 'local owner');
  const [kept] = await orm
    .select()
    .from(users)
    .where(isNull(users.providerSubject))
    .orderBy(asc(users.createdAt))
    .limit(1);
  if (kept) return kept;
  const [row] = await orm
    .insert(users)
    .values({ id: ids.next('usr'), ...localOwner, emailVerified: true, createdAt: now, updatedAt: now })
    .returning();
  if (!row) throw new Error('the local owner could not be kept');
  return row;
}

export async function readProviderRefreshToken(
  transaction: Transaction,
  userId: string,
  keyring: MasterKeyring,
): Promise<string | null> {
  const user = await findUser(transaction, userId);
  return user?.providerRefreshToken ? keyring.openText(user.providerRefreshToken, refreshTokenPurpose(userId)) : null;
}

export function refreshTokenPurpose(userId: string): string {
  return `users.provider_refresh_token:${userId}`;
}
