import type { Transaction } from '../../../platform/database/database.ts';
import { and, eq, gt, isNull } from '../../../platform/database/orm.ts';
import { dayMs, minuteMs } from '../../../platform/durations.ts';
import { oneTimeCodes } from '../tables.ts';
import { createSecretToken, hashSecretToken, tokenPrefixes } from '../tokens/secret-tokens.ts';

const exchangeCodeMs = minuteMs;
/** The local link is valid until the operator comes back to the terminal. */
const localLinkMs = 7 * dayMs;

/** Issues a code that opens a session for this person once; with a challenge only together with its verifier. */
export async function issueExchangeCode(
  { orm }: Transaction,
  userId: string,
  now: Date,
  codeChallenge: string | null = null,
): Promise<string> {
  const code = createSecretToken(tokenPrefixes.code);
  const expiresAt = new Date(now.getTime() + exchangeCodeMs);
  const hash = hashSecretToken(boundCode(code, codeChallenge));
  await orm.insert(oneTimeCodes).values({ hash, kind: 'exchange', userId, createdAt: now, expiresAt });
  return code;
}

/** One hash of code and challenge is stored, so that one without the other finds nothing. */
export function boundCode(code: string, codeChallenge: string | null): string {
  return codeChallenge === null ? code : `${code} ${codeChallenge}`;
}

export async function issueLocalCode({ orm }: Transaction, now: Date): Promise<string> {
  const code = createSecretToken(tokenPrefixes.local);
  const expiresAt = new Date(now.getTime() + localLinkMs);
  await orm.insert(oneTimeCodes).values({ hash: hashSecretToken(code), kind: 'local', createdAt: now, expiresAt });
  return code;
}

/** Marks the code used; of several concurrent callers only one gets it. */
export async function redeemCode(
  { orm }: Transaction,
  kind: 'exchange' | 'local',
  code: string,
  now: Date,
): Promise<{ userId: string | null } | undefined> {
  const [row] = await orm
    .update(oneTimeCodes)
    .set({ usedAt: now })
    .where(
      and(
        eq(oneTimeCodes.hash, hashSecretToken(code)),
        eq(oneTimeCodes.kind, kind),
        isNull(oneTimeCodes.usedAt),
        gt(oneTimeCodes.expiresAt, now),
      ),
    )
    .returning({ userId: oneTimeCodes.userId });
  return row;
}

/** Deletes the other printed links once somebody has signed in with one. */
export async function dropLocalCodes({ orm }: Transaction): Promise<void> {
  await orm.delete(oneTimeCodes).where(eq(oneTimeCodes.kind, 'local'));
}
