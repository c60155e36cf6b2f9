import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, expectTypeOf, test } from 'vitest';
import type { ClientOptions } from './client.ts';
import { createClient, HoldfastError } from './client.ts';
import { allOperations } from './operations/index.ts';

interface Seen {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

let server: Server;
let baseUrl: string;
let seen: Seen[] = [];
let answer: (request: Seen, response: ServerResponse) => void;

const json = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) =>
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));

const refuse = (response: ServerResponse, status: number, code: string, headers: Record<string, string> = {}) =>
  json(response, status, { success: false, error: { code, message: 'no', requestId: 'req_1' } }, headers);

beforeAll(async () => {
  server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    // A call that an earlier test aborted may arrive late.
    const [, ofRound, url = ''] = /^(?:\/round-(\d+))?(.*)$/.exec(request.url ?? '') ?? [];
    if (ofRound !== undefined && Number(ofRound) !== round) return;
    const entry = { method: request.method ?? '', url, headers: request.headers, body };
    seen.push(entry);
    answer(entry, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
let round = 0;
beforeEach(() => {
  seen = [];
  round += 1;
});

const client = (options: Partial<ClientOptions> = {}) =>
  createClient({
    baseUrl: `${baseUrl}/round-${round}`,
    token: 'fb_sa_x',
    organizationId: 'org_1',
    retry: { delayMs: 1 },
    ...options,
  });

describe('a call', () => {
  test('sends path, query, body and credentials, and returns the `data` of the answer', async () => {
    answer = (_, response) => json(response, 200, { success: true, data: { id: 'org_1', deleted: true } });
    const result = await client().deleteOrganization({ body: { confirmName: 'Acme' } });
    expect(result.deleted).toBe(true);
    expect(seen[0]).toMatchObject({
      method: 'POST',
      url: '/api/v1/organizations/current/delete',
      body: '{"confirmName":"Acme"}',
    });
    expect(seen[0]!.headers).toMatchObject({
      authorization: 'Bearer fb_sa_x',
      'x-organization-id': 'org_1',
      'content-type': 'application/json',
    });
    expect(seen[0]!.headers['idempotency-key']).toMatch(/^[0-9a-f]{32}$/);
  });

  test('encodes parameters, and leaves only the slashes of a document path as they are', async () => {
    answer = (_, response) => json(response, 200, { success: true, data: {} });
    await client().getBackupDocument({ params: { backupId: 'a/b', documentPath: 'users/ada lovelace?' } });
    expect(seen[0]!.url).toBe('/api/v1/backups/a%2Fb/documents/users/ada%20lovelace%3F');
  });

  test.each(['..', '.', ''])('refuses the path segment "%s" instead of reaching another path', async (backupId) => {
    await expect(client().getBackup({ params: { backupId } })).rejects.toThrow(TypeError);
    expect(seen).toHaveLength(0);
  });

  test('keeps a path in front of that of the API', async () => {
    answer = (_, response) => json(response, 200, { success: true, data: {} });
    await client({ baseUrl: `${baseUrl}/holdfast/` }).getOrganization();
    expect(seen[0]!.url).toBe('/holdfast/api/v1/organizations/current');
  });

  test('returns the message of a call that has no data', async () => {
    answer = (_, response) => json(response, 200, { success: true, message: 'Removed.' });
    expect(await client().removeMember({ params: { userId: 'usr_1' } })).toBe('Removed.');
  });

  test('returns a bare body as it is, a failing health report included', async () => {
    answer = (_, response) => json(response, 503, { status: 'unhealthy' });
    expect((await client().getHealth()).status).toBe('unhealthy');
    expect(seen).toHaveLength(1);
  });

  test('requests a secret that is shown once without an idempotency key, because a replay would not contain it', async () => {
    answer = (_, response) => response.writeHead(200, { 'content-type': 'text/plain' }).end('Holdfast recovery kit');
    expect(await client().takeRecoveryKit()).toBe('Holdfast recovery kit');
    expect(seen[0]!.headers['idempotency-key']).toBeUndefined();
  });

  test('returns the address of a redirect instead of following it', async () => {
    answer = (_, response) => response.writeHead(302, { location: 'https://accounts.test/consent' }).end();
    expect(await client().startSignIn()).toBe('https://accounts.test/consent');
    expect(seen[0]!.headers.authorization).toBeUndefined();
  });

  test('returns status and headers when the whole answer is requested', async () => {
    answer = (_, response) => json(response, 200, { success: true, data: { id: 'org_1' } }, { etag: '"7"' });
    const whole = await client().request('getOrganization', {});
    expect(whole.headers.get('etag')).toBe('"7"');
    await client().updateOrganization({ body: { name: 'B' }, ifMatch: '"7"' });
    expect(seen[1]!.headers['if-match']).toBe('"7"');
  });
});

describe('a failure', () => {
  test('is thrown with code, status, details and request id', async () => {
    const error = { code: 'PERMISSION_DENIED', message: 'no', details: { requiredRole: 'admin' }, requestId: 'req_9' };
    answer = (_, response) => json(response, 403, { success: false, error });
    const failure = await client()
      .getOrganization()
      .catch((thrown: unknown) => thrown);
    expect(failure).toBeInstanceOf(HoldfastError);
    expect(failure).toMatchObject({
      code: 'PERMISSION_DENIED',
      status: 403,
      details: { requiredRole: 'admin' },
      requestId: 'req_9',
    });
  });

  test('with a code this client does not know keeps its code and message', async () => {
    answer = (_, response) => refuse(response, 418, 'INVENTED_LATER');
    await expect(client().getOrganization()).rejects.toMatchObject({
      code: 'INVENTED_LATER',
      status: 418,
      message: 'no',
    });
  });

  test('of a proxy in between is distinguished from one of the service', async () => {
    answer = (_, response) => response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>');
    await expect(client().getOrganization()).rejects.toMatchObject({ code: 'UNEXPECTED_ANSWER', status: 502 });
  });

  test('to reach the service is a network error', async () => {
    await expect(client({ baseUrl: 'http://127.0.0.1:1' }).getOrganization()).rejects.toMatchObject({
      code: 'NETWORK_ERROR',
      status: 0,
    });
  });

  test('to answer in time is a network error', async () => {
    answer = () => undefined;
    await expect(client({ timeoutMs: 30 }).getOrganization()).rejects.toMatchObject({ code: 'NETWORK_ERROR' });
  });

  test("caused by the caller's own signal stays the caller's reason", async () => {
    answer = () => undefined;
    const reason = new Error('enough');
    const signal = AbortSignal.timeout(30);
    await expect(client().getOrganization({ signal })).rejects.toMatchObject({ name: 'TimeoutError' });
    await expect(client().getOrganization({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});

describe('retries', () => {
  test.each([429, 503])('wait as long as %i asks, then repeat with the same idempotency key', async (status) => {
    answer = (_, response) =>
      seen.length < 3
        ? refuse(response, status, 'RATE_LIMITED', { 'retry-after': '0' })
        : json(response, 201, { success: true, data: { id: 'org_2' } });
    expect((await client().createOrganization({ body: { name: 'B' } })).id).toBe('org_2');
    expect(seen).toHaveLength(3);
    expect(new Set(seen.map((request) => request.headers['idempotency-key'])).size).toBe(1);
  });

  test('do not repeat a change without an idempotency key', async () => {
    answer = (_, response) => refuse(response, 503, 'SERVICE_UNAVAILABLE');
    await expect(client().updateOrganization({ body: {} })).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    expect(seen).toHaveLength(1);
  });

  test('end after the configured number of attempts', async () => {
    answer = (_, response) => refuse(response, 503, 'SERVICE_UNAVAILABLE');
    await expect(client({ retry: { attemptsMax: 2, delayMs: 1 } }).getOrganization()).rejects.toMatchObject({
      status: 503,
    });
    expect(seen).toHaveLength(2);
  });

  test('do not wait longer than the caller allows', async () => {
    answer = (_, response) => refuse(response, 429, 'RATE_LIMITED', { 'retry-after': '3600' });
    await expect(client().getOrganization()).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    expect(seen).toHaveLength(1);
  });

  test('accept a date as well as seconds', async () => {
    const at = new Date(Date.now() + 1500).toUTCString();
    answer = (_, response) =>
      seen.length === 1
        ? refuse(response, 503, 'SERVICE_UNAVAILABLE', { 'retry-after': at })
        : json(response, 200, { success: true, data: {} });
    const startMs = performance.now();
    await client().getOrganization();
    expect(performance.now() - startMs).toBeGreaterThan(300);
  });

  test('can be aborted by the caller during the wait', async () => {
    answer = (_, response) => refuse(response, 503, 'SERVICE_UNAVAILABLE', { 'retry-after': '30' });
    await expect(client().getOrganization({ signal: AbortSignal.timeout(50) })).rejects.toMatchObject({
      name: 'TimeoutError',
    });
  });
});

describe('a token', () => {
  test('that was refused is renewed once, and the call repeated', async () => {
    answer = (request, response) =>
      request.headers.authorization === 'Bearer new'
        ? json(response, 200, { success: true, data: { id: 'usr_1' } })
        : refuse(response, 401, 'UNAUTHORIZED');
    const me = await client({ getToken: ({ refused }) => (refused ? 'new' : 'old') }).getMe();
    expect(me.id).toBe('usr_1');
  });

  test('that stays refused is an error, not a loop', async () => {
    answer = (_, response) => refuse(response, 401, 'UNAUTHORIZED');
    await expect(client({ getToken: () => 'old' }).getMe()).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
    expect(seen).toHaveLength(1);
  });

  test('is not requested by the call that refreshes it', async () => {
    answer = (_, response) => refuse(response, 401, 'UNAUTHORIZED');
    const getToken = () => {
      throw new Error('asked');
    };
    await expect(client({ getToken }).refreshTokens({ body: { refreshToken: 'x' } })).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
    });
  });
});

describe('a list', () => {
  const page = (data: unknown, nextCursor: string | null) => ({
    success: true,
    data,
    pagination: { nextCursor, hasMore: nextCursor !== null },
  });

  test('keeps its pagination', async () => {
    answer = (_, response) => json(response, 200, page([{ id: 'bkp_1' }], 'c1'));
    const result = await client().listBackups({ query: { limit: 1, status: 'completed' } });
    expect(result.data[0]!.id).toBe('bkp_1');
    expect(result.pagination.nextCursor).toBe('c1');
    expect(seen[0]!.url).toBe('/api/v1/backups?limit=1&status=completed');
  });

  test('is walked entry by entry over all pages, with the filters on each', async () => {
    answer = (request, response) =>
      json(
        response,
        200,
        request.url.includes('cursor=c1')
          ? page([{ id: 'bkp_3' }], null)
          : page([{ id: 'bkp_1' }, { id: 'bkp_2' }], 'c1'),
      );
    const ids: string[] = [];
    for await (const backup of client().paginate('listBackups', { query: { type: 'full' } })) ids.push(backup.id);
    expect(ids).toEqual(['bkp_1', 'bkp_2', 'bkp_3']);
    expect(seen.map((request) => request.url)).toEqual([
      '/api/v1/backups?type=full',
      '/api/v1/backups?type=full&cursor=c1',
    ]);
  });

  test('fetches no page before it is needed', async () => {
    answer = (_, response) => json(response, 200, page([{ id: 'bkp_1' }], 'c1'));
    for await (const _ of client().paginate('listBackups', {})) break;
    expect(seen).toHaveLength(1);
  });

  test('within an object is walked page by page', async () => {
    answer = (request, response) =>
      json(response, 200, page({ deliveries: [{ id: request.url }] }, request.url.includes('cursor') ? null : 'c1'));
    const counts: number[] = [];
    for await (const { data } of client().pages('listDeliveries', { params: { webhookId: 'whk_1' } }))
      counts.push(data.deliveries.length);
    expect(counts).toEqual([1, 1]);
  });
});

describe('a stream', () => {
  test('of lines yields documents whose bytes were cut anywhere', async () => {
    const whole = Buffer.from('{"name":"a","fields":{}}\n{"name":"ü","fields":{}}\r\n{"name":"c","fields":{}}');
    answer = async (_, response) => {
      response.writeHead(200, { 'content-type': 'application/x-ndjson' });
      for (const byte of whole) {
        response.write(Buffer.from([byte]));
        if (byte > 127) await new Promise((resolve) => setTimeout(resolve, 5));
      }
      response.end();
    };
    const names: string[] = [];
    for await (const document of await client().exportBackup({ params: { backupId: 'bkp_1' } }))
      names.push(document.name);
    expect(names).toEqual(['a', 'ü', 'c']);
  });

  test('of events yields their data, skips comments, and closes the connection when the caller leaves', async () => {
    let closed: Promise<void> | undefined;
    answer = (_, response) => {
      closed = new Promise((resolve) => response.on('close', () => resolve()));
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
      response.write(
        ': hello\n\nevent: progress\nid: 1\ndata: {"status":"running",\ndata: "progress":{"percent":10}}\n\n',
      );
    };
    for await (const event of await client().streamBackupEvents({ params: { backupId: 'bkp_1' } })) {
      expect(event.progress.percent).toBe(10);
      break;
    }
    await closed;
  });

  test('that breaks off is an error, never a short result', async () => {
    answer = (_, response) => {
      response.writeHead(200, { 'content-type': 'application/x-ndjson' });
      response.write('{"name":"a"}\n', () => response.destroy());
    };
    const read = async () => {
      for await (const _ of await client().exportBackup({ params: { backupId: 'bkp_1' } }));
    };
    await expect(read()).rejects.toMatchObject({ code: 'NETWORK_ERROR' });
  });

  test('of events that ends because its process stops is an error too: there is more to come', async () => {
    answer = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end('event: progress\ndata: {"status":"running"}\n\nretry: 1000\n\n');
    };
    const seen: string[] = [];
    const read = async () => {
      for await (const { status } of await client().streamBackupEvents({ params: { backupId: 'bkp_1' } }))
        seen.push(status);
    };
    await expect(read()).rejects.toMatchObject({ code: 'NETWORK_ERROR' });
    expect(seen).toEqual(['running']);
  });

  test('of a table is read as text', async () => {
    answer = (_, response) =>
      response.writeHead(200, { 'content-type': 'text/csv' }).end('id,action\n1,backup.created\n');
    const stream = await client().exportAuditLogs({ query: { format: 'csv' } });
    let text = '';
    for await (const piece of stream.text()) text += piece;
    expect(text).toContain('backup.created');
  });
});

test('no operation hides a method of the client', () => {
  const taken = new Set<string>(allOperations.map((operation) => operation.id));
  for (const name of ['request', 'pages', 'paginate', 'then']) expect(taken.has(name)).toBe(false);
});

test('the types know what each call needs and returns', () => {
  const typed = client();
  expectTypeOf(typed.createBackup).parameter(0).toHaveProperty('body');
  expectTypeOf<Awaited<ReturnType<typeof typed.listMembers>>['data'][number]['role']>().toEqualTypeOf<
    'viewer' | 'member' | 'admin' | 'owner'
  >();
  expectTypeOf<Awaited<ReturnType<typeof typed.removeMember>>>().toEqualTypeOf<string>();
  const body = { projectId: 'prj_1' };
  const start = async () => (await typed.createBackup({ body })).id;
  const estimate = async () => (await typed.createBackup({ body: { ...body, dryRun: true } })).estimatedReads;
  const either = (dryRun: boolean) => typed.createBackup({ body: { ...body, dryRun } });
  const refresh = async () => (await typed.refreshTokens({ body: { refreshToken: 'x' } })).accessToken;
  expectTypeOf(start).returns.resolves.toEqualTypeOf<string>();
  expectTypeOf(estimate).returns.resolves.toEqualTypeOf<number>();
  expectTypeOf(either).returns.resolves.toHaveProperty('documentCount');
  expectTypeOf(refresh).returns.resolves.toEqualTypeOf<string>();
  // @ts-expect-error a body without the project
  const withoutProject = () => typed.createBackup({ body: {} });
  // @ts-expect-error a call without its parameter
  const withoutParameter = () => typed.getBackup();
  expect([withoutProject, withoutParameter]).toHaveLength(2);
});
