import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { asOwner, foundOrganization, renew, signUp, type TestPerson } from '../testing/people.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';

let app: TestApp;
let ada: TestPerson;
let organizationId: string;
let as: { token: string; organizationId: string };

beforeAll(async () => {
  app = await startTestApp();
  ada = await signUp(app, 'ada@example.com');
  organizationId = await foundOrganization(app, ada);
  as = { token: ada.token, organizationId };
});
afterAll(() => app.close());

describe('Idempotency-Key', () => {
  const create = (key: string, body: object) =>
    app.request('POST', '/api/v1/organizations', { token: ada.token, body, headers: { 'idempotency-key': key } });

  test('the same key and body replay the stored answer, and nothing is done twice', async () => {
    const first = await create('create-once', { name: 'Once' });
    const second = await create('create-once', { name: 'Once' });
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.text).toBe(first.text);
    expect([first.headers.get('idempotency-replayed'), second.headers.get('idempotency-replayed')]).toEqual([
      null,
      'true',
    ]);
    expect(second.headers.get('location')).toBe(first.headers.get('location'));
    const { body } = await app.request('GET', '/api/v1/organizations', { token: ada.token });
    expect(body.data.filter((row: { name: string }) => row.name === 'Once')).toHaveLength(1);
  });

  test('the same key with another body is refused', async () => {
    await create('reused', { name: 'One' });
    const second = await create('reused', { name: 'Two' });
    expect([second.status, second.body.error.code]).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
  });

  test('a request that failed validation leaves the key free', async () => {
    expect((await create('mended', { name: '' })).status).toBe(400);
    expect((await create('mended', { name: 'Mended' })).status).toBe(201);
  });

  test('many at once carry the call out once, and the others are told to wait or get its answer', async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => create('stampede', { name: 'Stampede' })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(
      new Set(answers.some(({ status }) => status === 409) ? [201, 409] : [201]),
    );
    const { body } = await app.request('GET', '/api/v1/organizations?limit=200', { token: ada.token });
    expect(body.data.filter((row: { name: string }) => row.name === 'Stampede')).toHaveLength(1);
  });

  test('belongs to its caller: another person with the same key gets another answer', async () => {
    const bob = await signUp(app, 'bob@example.com');
    const mine = await create('shared-key', { name: 'Mine' });
    const theirs = await app.request('POST', '/api/v1/organizations', {
      token: bob.token,
      body: { name: 'Mine' },
      headers: { 'idempotency-key': 'shared-key' },
    });
    expect(theirs.body.data.id).not.toBe(mine.body.data.id);
  });

  test('a secret that is shown once is not in the stored answer', async () => {
    const call = () =>
      app.request('POST', '/api/v1/organizations/current/service-account', {
        ...as,
        body: { name: 'CI' },
        headers: { 'idempotency-key': 'key-once' },
      });
    const first = await call();
    const second = await call();
    expect(first.body.data.apiKey).toMatch(/^fb_sa_/);
    expect(second.body.data).toEqual({ ...first.body.data, apiKey: null });
    const stored = await asOwner(app.databaseUrl, async (client) =>
      (await client.query('select body from idempotency_keys')).rows.map((row) => row.body).join('\n'),
    );
    expect(stored).not.toContain(first.body.data.apiKey);
  });

  test('a call whose answer cannot be stored is answered, and not carried out again', async () => {
    const sql = (text: string) => asOwner(app.databaseUrl, (client) => client.query(text));
    await sql(`create function database_away() returns trigger language plpgsql as $$
      begin raise exception 'terminating connection' using errcode = '57P01'; end $$`);
    await sql('create trigger away before update on idempotency_keys for each row execute function database_away()');
    const first = await create('failover', { name: 'Failover' });
    expect(first.status).toBe(201);
    const meanwhile = await create('failover', { name: 'Failover' });
    expect([meanwhile.status, meanwhile.headers.get('retry-after')]).toEqual([409, '2']);
    await sql('drop trigger away on idempotency_keys');
    await expect
      .poll(async () => (await create('failover', { name: 'Failover' })).status, { timeout: 60_000, interval: 200 })
      .toBe(201);
    const replayed = await create('failover', { name: 'Failover' });
    expect([replayed.text, replayed.headers.get('idempotency-replayed')]).toEqual([first.text, 'true']);
    const { body } = await app.request('GET', '/api/v1/organizations?limit=200', { token: ada.token });
    expect(body.data.filter((row: { name: string }) => row.name === 'Failover')).toHaveLength(1);
  });

  test('is kept for a day', async () => {
    const call = (token: string) =>
      app.request('POST', '/api/v1/organizations', {
        token,
        body: { name: 'Yesterday' },
        headers: { 'idempotency-key': 'yesterday' },
      });
    const first = await call(ada.token);
    app.clock.advance(24 * 3600 * 1000 + 1000);
    const today = await renew(app, ada);
    const second = await call(today.token);
    expect(second.headers.get('idempotency-replayed')).toBeNull();
    expect(second.body.data.id).not.toBe(first.body.data.id);
    ada = today;
    as = { token: today.token, organizationId };
  });
});

describe('ETag and If-Match', () => {
  test('a change with an outdated version is refused and changes nothing', async () => {
    const person = await signUp(app, 'etag@example.com');
    const id = await foundOrganization(app, person);
    const mine = { token: person.token, organizationId: id };
    const created = await app.request('POST', '/api/v1/webhooks', {
      ...mine,
      body: { name: 'Hook', url: 'https://example.com/hook', events: ['backup.*'] },
    });
    expect(created.status, created.text).toBe(201);
    const path = `/api/v1/webhooks/${created.body.data.id}`;
    const etag = (await app.request('GET', path, mine)).headers.get('etag') ?? '';
    expect(etag).toMatch(/^".+"$/);
    expect((await app.request('GET', path, { ...mine, headers: { 'if-none-match': etag } })).status).toBe(304);
    expect(
      (await app.request('PUT', path, { ...mine, body: { name: 'Renamed' }, headers: { 'if-match': etag } })).status,
    ).toBe(200);
    const late = await app.request('PUT', path, { ...mine, body: { name: 'Too late' }, headers: { 'if-match': etag } });
    expect([late.status, late.body.error.code]).toEqual([412, 'PRECONDITION_FAILED']);
    expect((await app.request('GET', path, mine)).body.data.name).toBe('Renamed');
  });
});

test('every refused or failed call is a line of the log at info, with its request id and its code', async () => {
  const refusals: [string, string, object, string][] = [
    ['GET', '/api/v1/projects', {}, 'UNAUTHORIZED'],
    ['GET', '/api/v1/projects/prj_none', as, 'PROJECT_NOT_FOUND'],
    ['POST', '/api/v1/webhooks', { ...as, body: {} }, 'VALIDATION_ERROR'],
    ['GET', '/api/v1/nowhere', as, 'NOT_FOUND'],
  ];
  for (const [method, path, options, code] of refusals) {
    const answer = await app.request(method, path, options);
    expect(answer.body.error.code).toBe(code);
    const lines = app
      .logged()
      .split('\n')
      .filter((line) => line.includes(answer.headers.get('x-request-id') as string));
    const logged = lines.map((line) => JSON.parse(line)).find(({ level }) => level === 30);
    expect(logged, path).toMatchObject({ method, code, status: answer.status });
  }
});

describe('pages', () => {
  test('no row is skipped or repeated while others are inserted, and a cursor is bound to its filters', async () => {
    const person = await signUp(app, 'pages@example.com');
    const mine = { token: person.token };
    const made: string[] = [];
    for (let index = 0; index < 7; index++)
      made.push(
        (await app.request('POST', '/api/v1/organizations', { ...mine, body: { name: `Page ${index}` } })).body.data.id,
      );
    const seen: string[] = [];
    let cursor = '';
    do {
      const page = await app.request('GET', `/api/v1/organizations?limit=2${cursor && `&cursor=${cursor}`}`, mine);
      seen.push(...page.body.data.map((row: { id: string }) => row.id));
      cursor = page.body.pagination.nextCursor ?? '';
      expect(page.body.pagination.hasMore).toBe(cursor !== '');
      if (cursor) await app.request('POST', '/api/v1/organizations', { ...mine, body: { name: 'Newcomer' } });
    } while (cursor);
    expect(seen.filter((id) => made.includes(id)).toSorted()).toEqual(made.toSorted());
    const first = await app.request('GET', '/api/v1/organizations?limit=1', mine);
    const foreign = await app.request('GET', `/api/v1/backups?cursor=${first.body.pagination.nextCursor}`, as);
    expect([foreign.status, foreign.body.error.details.field]).toEqual([400, 'cursor']);
  });

  const wrong = ['0', '-1', 'x', '1.5', '1e1', '0x10', '+5', ' 5', '5 ', '5.0', '1_0', '５', '', 'Infinity', 'true'];
  test.each(wrong)('a limit of "%s" is an error', async (limit) => {
    const path = `/api/v1/organizations?limit=${encodeURIComponent(limit)}`;
    const { status, body } = await app.request('GET', path, { token: ada.token });
    expect([status, body.error?.details]).toEqual([
      400,
      { field: 'limit', reason: 'must be a whole number of at least 1' },
    ]);
  });

  test('a limit that is too large is lowered', async () => {
    const person = await signUp(app, 'large@example.com');
    for (const limit of ['100000', '9'.repeat(400)]) {
      const path = `/api/v1/organizations?limit=${limit}`;
      expect((await app.request('GET', path, { token: person.token })).status, limit).toBe(200);
    }
  });
});

test('callers get their rate limit, and past it the time to wait', async () => {
  const limited = await startTestApp({ RATE_LIMIT_PER_MINUTE: '5', AUTH_RATE_LIMIT_PER_MINUTE: '3' });
  try {
    const person = await signUp(limited, 'fast@example.com');
    const answers: Awaited<ReturnType<TestApp['request']>>[] = [];
    for (let count = 0; count < 7; count++)
      answers.push(await limited.request('GET', '/api/v1/auth/me', { token: person.token }));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429, 429]);
    expect(answers[0]?.headers.get('ratelimit-policy')).toBe('"default";q=5;w=60');
    expect(answers[0]?.headers.get('ratelimit')).toMatch(/^"default";r=4;t=\d+$/);
    expect(Number(answers[6]?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(answers[6]?.body.error.code).toBe('RATE_LIMITED');
    const signIns: number[] = [];
    for (let count = 0; count < 5; count++)
      signIns.push(
        (await limited.request('POST', '/api/v1/auth/refresh', { body: { refreshToken: 'x'.repeat(40) } })).status,
      );
    expect(signIns.slice(3)).toEqual([429, 429]);
    limited.clock.advance(61_000);
    expect((await limited.request('GET', '/api/v1/auth/me', { token: person.token })).status).toBe(200);
  } finally {
    await limited.close();
  }
});

test('a page answers only its own method, and names it to others', async () => {
  for (const path of ['/', '/docs', '/docs/docs.css']) {
    const refused = await app.request('POST', path, { body: {} });
    expect([path, refused.status, refused.body?.error?.code, refused.headers.get('allow')]).toEqual([
      path,
      405,
      'METHOD_NOT_ALLOWED',
      'GET, HEAD, OPTIONS',
    ]);
  }
});

test('health, documents and metrics are served', async () => {
  const health = await app.request('GET', '/health');
  expect(health.body).toMatchObject({
    status: 'healthy',
    version: '2.0.0',
    checks: { database: 'ok', redis: 'not configured', storage: 'ok' },
  });
  expect((await app.request('GET', '/health/ready')).status).toBe(200);
  expect((await app.request('GET', '/api/v1/openapi.json')).body.openapi).toBe('3.1.0');
  expect((await app.request('GET', '/docs')).text).toContain('Holdfast API');
  expect((await app.request('GET', '/metrics')).text).toContain('holdfast_http_request_duration_seconds');
});
