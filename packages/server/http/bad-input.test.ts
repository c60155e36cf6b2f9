import { connect } from 'node:net';
import { type Operation, servedOperations } from '@holdfast/contract';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { foundOrganization, signUp, type TestPerson } from '../testing/people.ts';
import { isFollowed } from '../testing/sample-input.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';

let app: TestApp;
let person: TestPerson;
let organizationId: string;

beforeAll(async () => {
  app = await startTestApp();
  person = await signUp(app, 'garbage@example.com');
  organizationId = await foundOrganization(app, person);
});
afterAll(() => app.close());

/**
 * Would end the session or the organization of the test. They refuse random data, but a valid call by chance must not
 * happen.
 */
const careful = new Set(['logout', 'deleteOrganization', 'revokeSession']);
const withBody = servedOperations.filter(
  (operation) => ['POST', 'PUT', 'PATCH'].includes(operation.method) && !careful.has(operation.id),
);

function pathOf(operation: Operation, value: string): string {
  return operation.path.replace(/\{\w+\}/g, () => encodeURIComponent(value) || 'x');
}

/** Expects the error envelope and nothing else, and never a 500. */
function expectRefusal(response: { status: number; text: string; headers: Headers }, what: string): void {
  expect(response.status, `${what}: ${response.text.slice(0, 300)}`).toBeLessThan(500);
  if (response.status < 400) return;
  const body = JSON.parse(response.text) as {
    success: boolean;
    error: { code: string; message: string; requestId: string };
  };
  expect(body.success, what).toBe(false);
  expect(typeof body.error.code, what).toBe('string');
  expect(body.error.requestId, what).toBe(response.headers.get('x-request-id'));
}

function send(operation: Operation, options: { path?: string; body?: unknown; headers?: Record<string, string> }) {
  return app.request(operation.method, options.path ?? pathOf(operation, 'x'), {
    token: person.token,
    organizationId,
    headOnly: isFollowed(operation),
    ...options,
  });
}

describe('bad input gets the error envelope, never a 500, never a hang', () => {
  test.each(withBody.map((operation) => [operation.id, operation] as const))('%s', async (_, operation) => {
    const cases: [string, { body?: unknown; headers?: Record<string, string> }, number[] | undefined][] = [
      ['broken JSON', { body: '{"name": ', headers: { 'content-type': 'application/json' } }, undefined],
      [
        'not UTF-8',
        { body: '{"a":"\u0080"}', headers: { 'content-type': 'application/json; charset=latin1' } },
        undefined,
      ],
      ['oversize', { body: JSON.stringify({ name: 'x'.repeat(1024 * 1024) }) }, [413]],
      ['wrong content type', { body: '<a/>', headers: { 'content-type': 'application/xml' } }, [415]],
      ['unknown field', { body: { nobodyKnowsThisField: 1 } }, [400]],
      ['array', { body: [] }, undefined],
      ['null', { body: 'null', headers: { 'content-type': 'application/json' } }, undefined],
      ['null byte', { body: { name: 'a\u0000b' } }, undefined],
      ['lone surrogate', { body: '{"name":"\\ud800"}', headers: { 'content-type': 'application/json' } }, undefined],
      [
        'huge number',
        {
          body: '{"limit": 1e400, "timeout": 9007199254740993123, "retention": -1e308}',
          headers: { 'content-type': 'application/json' },
        },
        undefined,
      ],
      [
        'deep nesting',
        { body: `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`, headers: { 'content-type': 'application/json' } },
        undefined,
      ],
      [
        'prototype',
        { body: '{"__proto__": {"role": "owner"}, "constructor": 1}', headers: { 'content-type': 'application/json' } },
        undefined,
      ],
      [
        'long header',
        { body: {}, headers: { 'x-request-id': 'x'.repeat(10_000), 'x-odd': 'y'.repeat(10_000) } },
        undefined,
      ],
    ];
    for (const [what, options, statuses] of cases) {
      const response = await send(operation, options);
      expectRefusal(response, `${operation.id} ${what}`);
      if (statuses)
        expect(statuses, `${operation.id} ${what}: ${response.text.slice(0, 200)}`).toContain(response.status);
    }
  });

  test('any JSON, any query, any path parameter', { tags: 'long' }, async () => {
    const json = fc.jsonValue({ maxDepth: 3 });
    const words = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.constantFrom('..', '%00', '\u0000', '../../etc', "' or 1=1 --", '*', '.', '\ud83d\ude00', '__proto__'),
    );
    const property = fc.asyncProperty(
      fc.constantFrom(...servedOperations.filter(({ id }) => !careful.has(id))),
      json,
      words,
      words,
      async (operation, body, parameter, query) => {
        const path = `${pathOf(operation, parameter.toWellFormed())}?limit=${encodeURIComponent(query.toWellFormed())}&cursor=${encodeURIComponent(parameter.toWellFormed())}&from=${encodeURIComponent(query.toWellFormed())}`;
        const response = await send(
          operation,
          operation.method === 'GET' || operation.method === 'DELETE'
            ? { path }
            : { path, body: JSON.stringify(body), headers: { 'content-type': 'application/json' } },
        );
        expectRefusal(response, `${operation.id} ${path}`);
      },
    );
    await fc.assert(property, { numRuns: 400 });
  });
});

/** Sends bytes that no HTTP library would send. */
function raw(text: string): Promise<string> {
  const { hostname, port } = new URL(app.address);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(text));
    let answer = '';
    socket.setTimeout(5000, () => reject(new Error('the server hangs')));
    socket.on('data', (chunk) => {
      answer += chunk;
      if (answer.includes('\r\n\r\n') && /"success":|HTTP\/1.1 204/.test(answer)) socket.destroy();
    });
    socket.on('close', () => resolve(answer));
    socket.on('error', reject);
  });
}

test.each([
  [
    'an unknown method',
    'FROBNICATE /api/v1/organizations HTTP/1.1\r\nHost: a\r\n\r\n',
    /^HTTP\/1.1 400 .*VALIDATION_ERROR/s,
  ],
  [
    'a method of WebDAV',
    'PROPFIND /api/v1/organizations HTTP/1.1\r\nHost: a\r\n\r\n',
    /^HTTP\/1.1 405 .*METHOD_NOT_ALLOWED/s,
  ],
  ['TRACE', 'TRACE /api/v1/auth/me HTTP/1.1\r\nHost: a\r\n\r\n', /^HTTP\/1.1 405 .*METHOD_NOT_ALLOWED/s],
  ['no HTTP at all', 'hello\r\n\r\n', /^HTTP\/1.1 400 .*VALIDATION_ERROR/s],
  [
    'headers beyond measure',
    `GET /health HTTP/1.1\r\nHost: a\r\nX-Long: ${'x'.repeat(40_000)}\r\n\r\n`,
    /^HTTP\/1.1 431 .*HEADERS_TOO_LARGE/s,
  ],
  [
    'broken percent encoding',
    'GET /api/v1/%E0%A4%A HTTP/1.1\r\nHost: a\r\n\r\n',
    /^HTTP\/1.1 40[04] .*"success":false/s,
  ],
  [
    'a null byte in the path',
    'GET /api/v1/backups/%00 HTTP/1.1\r\nHost: a\r\n\r\n',
    /^HTTP\/1.1 4\d\d .*"success":false/s,
  ],
  [
    'two different lengths',
    'POST /api/v1/organizations HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 5\r\n\r\n{',
    /^HTTP\/1.1 400 /,
  ],
])('%s is answered with the error envelope', async (_, bytes, expected) => {
  expect(await raw(bytes)).toMatch(expected);
});

test('an unknown path is 404, a known path with another method 405 with Allow, an old path 410 with the new one', async () => {
  const missing = await app.request('GET', '/api/v1/nothing-here');
  expect([missing.status, missing.body.error.code]).toEqual([404, 'NOT_FOUND']);
  const wrong = await app.request('PATCH', '/api/v1/openapi.json');
  expect([wrong.status, wrong.body.error.code, wrong.headers.get('allow')]).toEqual([
    405,
    'METHOD_NOT_ALLOWED',
    'GET, HEAD, OPTIONS',
  ]);
  const old = await app.request('GET', '/api/backups?x=1');
  expect([old.status, old.body.error.code, old.body.error.details]).toEqual([410, 'GONE', { path: '/api/v1/backups' }]);
  const health = await app.request('GET', '/api/health');
  expect([health.status, health.body.error.details]).toEqual([410, { path: '/health' }]);
});

test('a well-formed request id is kept, another one is replaced', async () => {
  const kept = await app.request('GET', '/health', { headers: { 'x-request-id': 'my-id.1' } });
  expect(kept.headers.get('x-request-id')).toBe('my-id.1');
  const replaced = await app.request('GET', '/health', { headers: { 'x-request-id': 'no spaces' } });
  expect(replaced.headers.get('x-request-id')).toMatch(/^req_/);
});

test('a fault of a field is explained in plain words, not in those of a schema', async () => {
  const key = { type: 'service_account', project_id: 'acme-shop', client_email: 'a@example.com', private_key: 'nope' };
  const cases: [string, object, string, string | RegExp][] = [
    ['/projects', { sourceProjectId: 'shop', connection: { type: 'oauth' } }, 'name', 'is required'],
    ['/projects', { name: 7, sourceProjectId: 'shop', connection: { type: 'oauth' } }, 'name', 'must be a text'],
    ['/projects', { name: '', sourceProjectId: 'shop', connection: { type: 'oauth' } }, 'name', 'must not be empty'],
    [
      '/projects',
      { name: 'Shop', sourceProjectId: 'shop', connection: { type: 'service_account', key } },
      'connection.key.private_key',
      /as it stands in the key file/,
    ],
    [
      '/projects',
      { name: 'Shop', sourceProjectId: 'shop', connection: { type: 'service_account', key: { project_id: 'shop' } } },
      'connection.key.type',
      'must be service_account',
    ],
    [
      '/storage-destinations',
      { name: 'S', type: 's3', bucket: 'b', credentials: { accessKeyId: 'a', secretAccessKey: 'b' } },
      'bucket',
      'must have at least 3 characters',
    ],
    ['/schedules/preview', { cron: '0 2 * * *', count: 0 }, 'count', 'must be at least 1'],
    ['/schedules/preview', { cron: '0 2 * * *', count: 1.5 }, 'count', 'must be a whole number'],
    ['/organizations/current/invites', { email: 'nobody' }, 'email', /e-mail address/],
    ['/organizations/current/invites', { email: 'a@example.com', role: 'king' }, 'role', /^must be one of .*admin/],
    ['/webhooks', { name: 'H', url: 'https://example.com', events: [] }, 'events', 'must have at least 1 entry'],
    ['/storage-destinations', { name: 'S', type: 'ftp' }, 'type', 'must be one of s3, spaces, gcs, local'],
    [
      '/projects',
      { name: 'Shop', sourceProjectId: 'shop', connection: { type: 'moon' } },
      'connection.type',
      'must be one of oauth, service_account, emulator',
    ],
  ];
  for (const [path, body, field, reason] of cases) {
    const { error } = (await app.request('POST', `/api/v1${path}`, { token: person.token, organizationId, body })).body;
    expect(error).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { field, reason: typeof reason === 'string' ? reason : expect.stringMatching(reason) },
    });
  }
});

test.each(['x', '2026', '2026-02-30', '1969-12-31', '2026-03-01T12:00:00'])(
  'an invalid date (%s) is reported once, with an example',
  async (from) => {
    const reason = expect.stringMatching(/^must be a date such as 2026-03-01, or a time with its zone/);
    for (const path of ['/backups', '/audit-logs']) {
      const given = { token: person.token, organizationId };
      const { error } = (await app.request('GET', `/api/v1${path}?from=${from}`, given)).body;
      expect(error).toMatchObject({ code: 'VALIDATION_ERROR' });
      expect(error.details).toEqual({ field: 'from', reason });
    }
  },
);

test('a body that is too large or of another type has its own code', async () => {
  const send = (body: string, type: string) =>
    app.request('POST', '/api/v1/organizations', { token: person.token, body, headers: { 'content-type': type } });
  const large = await send(JSON.stringify({ name: 'x'.repeat(1024 * 1024) }), 'application/json');
  const other = await send('name=Shop', 'application/x-www-form-urlencoded');
  expect([large.status, large.body.error.code]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
  expect([other.status, other.body.error.code]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
});
