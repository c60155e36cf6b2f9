import { issueExchangeCode } from '../modules/auth/sign-in/one-time-code-store.ts';
import { AccessTokens } from '../modules/auth/tokens/access-tokens.ts';
import { SharedSecretKeys, StoredKeyPairs } from '../modules/auth/tokens/signing-keys.ts';
import type { TestApp } from './test-app.ts';

export interface TestTokens {
  accessToken: string;
  refreshToken: string;
}

/** Another sign-in of an existing person, through the token call. */
export async function openSession(
  app: TestApp,
  userId: string,
  headers: Record<string, string> = {},
): Promise<TestTokens> {
  const { database, clock } = app.platform;
  const code = await database.system((transaction) => issueExchangeCode(transaction, userId, clock.now()));
  const body = { code, grant_type: 'authorization_code' };
  const answer = await app.request('POST', '/api/v1/auth/token', { body, headers });
  if (answer.status !== 200) throw new Error(`no session was opened: ${answer.text}`);
  return answer.body.data;
}

/** A new access token of the same session, after the clock moved. */
export async function freshToken(app: TestApp, token: string): Promise<string> {
  const { config, clock, ids } = app.platform;
  const keys = config.JWT_SECRET ? new SharedSecretKeys(config.JWT_SECRET) : new StoredKeyPairs(app.platform);
  const { sub, sid } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
  const claims = { userId: sub, sessionId: sid, email: 'x@example.com', name: 'x', organizations: [] };
  return new AccessTokens(keys, clock, config.ACCESS_TOKEN_TTL).sign(claims, ids.next('ses'));
}
