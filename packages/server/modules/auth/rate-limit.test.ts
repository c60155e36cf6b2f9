import { afterAll, beforeAll, expect, test } from 'vitest';
import { signUp } from '../../testing/people.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ AUTH_RATE_LIMIT_PER_MINUTE: '30', TRUST_PROXY: 'true' });
});
afterAll(() => app.close());

test('an address may try 30 times a minute, sign-in, token and refresh calls together, and others are not held up', async () => {
  const { token } = await signUp(app, 'busy@example.com');
  const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });
  const attempts = [
    () => app.request('POST', '/api/v1/auth/refresh', { ...from('203.0.113.1'), body: { refreshToken: 'hfr_guess' } }),
    () =>
      app.request('POST', '/api/v1/auth/token', {
        ...from('203.0.113.1'),
        body: { code: 'hfc_guess', grant_type: 'authorization_code' },
      }),
    () => app.request('GET', '/auth/local?token=guess', from('203.0.113.1')),
  ];
  for (let count = 0; count < 30; count++) expect((await attempts[count % 3]?.())?.status).toBe(401);
  for (const attempt of attempts) {
    const answer = await attempt();
    expect([answer.status, answer.body.error.code]).toEqual([429, 'RATE_LIMITED']);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  }
  const other = await app.request('POST', '/api/v1/auth/refresh', {
    ...from('203.0.113.2'),
    body: { refreshToken: 'x' },
  });
  expect(other.status).toBe(401);
  expect((await app.request('GET', '/api/v1/auth/me', { ...from('203.0.113.1'), token })).status).toBe(200);
  app.clock.advance(61_000);
  expect((await attempts[0]?.())?.status).toBe(401);
});
