import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { allOperations } from '@holdfast/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { foundOrganization, signUp } from '../testing/people.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';

let app: TestApp;
let as: { token: string; organizationId: string };

beforeAll(async () => {
  app = await startTestApp({}, { headersMsMax: 400 });
  const ada = await signUp(app, 'ada@example.com');
  as = { token: ada.token, organizationId: await foundOrganization(app, ada) };
});
afterAll(() => app.close());

describe('a client that sends the head of a request slowly', () => {
  const slowSenders = 300;

  test('is cut off, also together with many others, and others are answered meanwhile', async () => {
    const { hostname, port } = new URL(app.address);
    const sockets: Socket[] = Array.from({ length: slowSenders }, () => connect(Number(port), hostname));
    const closed = sockets.map((socket) => {
      socket.on('error', () => {});
      socket.on('connect', () => socket.write('GET /api/v1/backups HTTP/1.1\r\nHost: x\r\nX-Slow: '));
      socket.resume();
      return once(socket, 'close');
    });
    const trickle = setInterval(() => {
      for (const socket of sockets) if (!socket.destroyed) socket.write('a');
    }, 100);
    const answer = await app.request('GET', '/api/v1/backups', as);
    expect(answer.status).toBe(200);
    await Promise.all(closed);
    clearInterval(trickle);
  });
});

describe('a body with names that every object inherits', () => {
  const withBody = allOperations.filter(({ method, path }) => method !== 'GET' && !path.includes('{'));

  test('changes no inherited value, in any operation', async () => {
    const poison = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}';
    for (const { method, path } of withBody) {
      for (const body of [`${poison}}`, `${poison},"name":"x","headers":{"__proto__":{"polluted":"yes"}}}`]) {
        const answer = await app.request(method, `/api/v1${path.replace(/^\/api\/v1/, '')}`, { ...as, body });
        expect(answer.status, `${method} ${path} ${answer.text}`).toBeLessThan(500);
        expect(answer.status, `${method} ${path}`).toBeGreaterThanOrEqual(400);
      }
    }
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});

test.each([
  ['a header of a webhook', '/webhooks', { headers: { 'X-Mine': 'a\r\nX-Evil: 1' } }],
  ['the name of a header', '/webhooks', { headers: { 'X-Mine\r\nX-Evil': 'a' } }],
  ['an invited address', '/organizations/current/invites', { email: 'a@example.com\r\nBcc: b@example.com' }],
  ['the name of an organization', '/organizations', { name: 'Shop\r\nBcc: b@example.com' }],
])('a line break in %s is refused', async (_what, path, fields) => {
  const webhook = { name: 'Hook', url: 'https://example.com/hook', events: ['*'] };
  const rest = path === '/webhooks' ? webhook : path === '/organizations' ? {} : { role: 'member' };
  const answer = await app.request('POST', `/api/v1${path}`, { ...as, body: { ...rest, ...fields } });
  expect(answer.body.error?.code, answer.text).toBe('VALIDATION_ERROR');
});

test('many concurrent changes of one version change a resource once', async () => {
  const current = '/api/v1/organizations/current';
  const etag = (await app.request('GET', current, as)).headers.get('etag') ?? '';
  expect(etag).not.toBe('');
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      app.request('PUT', current, { ...as, body: { name: `Shop ${index}` }, headers: { 'if-match': etag } }),
    ),
  );
  const statuses = Object.groupBy(answers, ({ status }) => String(status));
  expect([statuses['200']?.length, statuses['412']?.length]).toEqual([1, 19]);
});
