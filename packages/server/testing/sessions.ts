import { issueExchangeCode } from '../modules/auth/one-time-codes.ts';
import type { TestApp } from './test-app.ts';

export interface TestTokens {
  accessToken: string;
  refreshToken: string;
}

/** A further sign-in of a person who exists, through the token call. */
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
