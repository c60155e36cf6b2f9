import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from './platform/free-port.ts';
import { signUp } from './testing/people.ts';
import { startTestApp, type TestApp } from './testing/test-app.ts';

/** Checks from outside what settings promise. */

const hasRedis = spawnSync('redis-server', ['--version']).status === 0;

describe.skipIf(!hasRedis)('with REDIS_URL', () => {
  let redis: ChildProcess;
  let apps: TestApp[];

  beforeAll(async () => {
    const port = await freePort();
    redis = spawn('redis-server', ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']);
    await new Promise<void>((resolve) => {
      redis.stdout?.on('data', (chunk) => String(chunk).includes('Ready to accept') && resolve());
    });
    const environment = { REDIS_URL: `redis://127.0.0.1:${port}`, AUTH_RATE_LIMIT_PER_MINUTE: '4' };
    apps = [await startTestApp(environment), await startTestApp(environment)];
  });
  afterAll(async () => {
    redis.kill();
    for (const app of apps) await app.close();
  });

  const redisCheck = async () => (await apps[0]!.request('GET', '/health')).body.checks.redis;
  const signIn = (app: TestApp) =>
    app.request('POST', '/api/v1/auth/refresh', { body: { refreshToken: 'one that nobody has' } });

  test('processes share their limits, and when Redis is away each counts for itself and says so', async () => {
    await expect.poll(redisCheck).toBe('ok');
    const statuses: number[] = [];
    for (const app of [...apps, ...apps, ...apps]) statuses.push((await signIn(app)).status);
    expect(statuses).toEqual([401, 401, 401, 401, 429, 429]);
    redis.kill();
    await expect.poll(redisCheck).toBe('error');
    expect((await signIn(apps[1]!)).status).toBe(401);
    const warnings = () => apps[0]!.logged().split('Redis is away').length - 1;
    await new Promise((resolve) => setTimeout(resolve, 1000));
    expect(warnings()).toBe(1);
  });
});

describe('with DEFAULT_PLAN and METRICS_TOKEN', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp({ DEFAULT_PLAN: 'starter', METRICS_TOKEN: 'the-token-of-the-monitor' });
  });
  afterAll(() => app.close());

  test('new organizations get that plan and its features', { tags: 'long' }, async () => {
    const { token } = await signUp(app, 'founder@example.com');
    const founded = await app.request('POST', '/api/v1/organizations', { token, body: { name: 'Small' } });
    const as = { token, organizationId: founded.body.data.id };
    const shown = await app.request('GET', '/api/v1/organizations/current', as);
    expect(shown.body.data.subscription.plan).toBe('starter');
    const body = { passphrase: 'for enterprises only' };
    const refused = await app.request('PUT', '/api/v1/organizations/current/encryption-key', { ...as, body });
    expect(refused.body.error).toMatchObject({
      code: 'FORBIDDEN',
      details: { requiredPlan: 'enterprise', currentPlan: 'starter' },
    });
  });

  test('metrics need the token, also on this machine', async () => {
    const scrape = (headers = {}) => app.request('GET', '/metrics', { headers });
    expect((await scrape()).status).toBe(401);
    expect((await scrape({ authorization: 'Bearer another' })).status).toBe(401);
    const scraped = await scrape({ authorization: 'Bearer the-token-of-the-monitor' });
    expect(scraped.status).toBe(200);
    expect(scraped.text).toContain('http_request');
  });
});
