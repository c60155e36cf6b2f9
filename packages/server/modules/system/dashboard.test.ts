import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

let app: TestApp;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-dashboard-'));
  await writeFile(join(folder, 'index.html'), '<!doctype html><title>Holdfast</title>');
  await writeFile(join(folder, 'index.html.gz'), 'packed');
  await writeFile(join(folder, 'theme.js'), '1');
  await writeFile(join(folder, '.built-from'), 'x');
  app = await startTestApp({}, { dashboardFolder: folder });
});
afterAll(async () => {
  await app.close();
  await rm(folder, { recursive: true, force: true });
});

const visit = (path: string, headers: Record<string, string> = {}) =>
  fetch(new URL(path, app.address), { headers: { accept: 'text/html', ...headers }, redirect: 'manual' });

/** Without the headers that `fetch` adds. */
const look = (path: string, headers: Record<string, string>) =>
  new Promise<[number | undefined, string[] | undefined]>((resolve, reject) => {
    request(new URL(path, app.address), { headers }, (answer) => {
      answer.resume();
      resolve([answer.statusCode, answer.headers['set-cookie']]);
    })
      .on('error', reject)
      .end();
  });

test('every page of the dashboard is the same file, under a policy that allows nothing foreign and nothing inline', async () => {
  for (const path of [
    '/',
    '/sign-in',
    '/invitations/accept?token=x',
    '/account',
    '/o/acme',
    '/o/acme/backups/bkp_1/browse/users/ada',
  ]) {
    const answer = await visit(path);
    expect([answer.status, answer.headers.get('content-type')], path).toEqual([200, 'text/html; charset=utf-8']);
    const policy = answer.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain("require-trusted-types-for 'script'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
  }
});

test('an unknown address shows a person a way on, and gives a program an error', async () => {
  const page = await visit('/nothing/at?all=1.5');
  expect([page.status, page.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  const answer = await visit('/nothing', { accept: 'application/json' });
  expect([answer.status, answer.headers.get('content-type')]).toEqual([404, 'application/json; charset=utf-8']);
});

test('other paths are answered by the API', async () => {
  for (const path of ['/api/v1/nothing', '/index.html', '/.built-from', '/..%2f..%2fetc%2fpasswd']) {
    const answer = await visit(path);
    expect([answer.status, answer.headers.get('content-type')], path).toEqual([404, 'application/json; charset=utf-8']);
  }
});

test('a file is sent compressed to clients that accept that, and uncompressed to others', async () => {
  const encoding = async (accepted: string) =>
    new Promise((resolve, reject) => {
      request(new URL('/', app.address), { headers: { 'accept-encoding': accepted } }, (answer) => {
        answer.resume();
        resolve(answer.headers['content-encoding']);
      })
        .on('error', reject)
        .end();
    });
  expect(await encoding('gzip')).toBe('gzip');
  expect(await encoding('identity')).toBeUndefined();
});

test('opening the sign-in link uses nothing up, and its button signs in once', async () => {
  const link = (app.signInLink ?? '').slice(app.address.length);
  const lookers = [
    { accept: 'text/html,application/xhtml+xml', 'sec-fetch-mode': 'navigate' },
    { accept: '*/*', 'user-agent': 'a preview of links' },
    { 'user-agent': 'a scanner of mails' },
    { accept: 'text/html', 'sec-fetch-mode': 'cors' },
  ];
  for (const headers of lookers) expect(await look(link, headers)).toEqual([200, undefined]);
  const token = new URL(link, app.address).searchParams.get('token');
  const press = () => app.request('POST', '/auth/local', { body: { token } });
  const [first, second] = [await press(), await press()];
  expect([first.status, second.status]).toEqual([200, 401]);
  const cookie = first.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
  const me = await app.request('GET', '/api/v1/auth/me', { headers: { cookie } });
  expect(me.body.data.organizations).toMatchObject([{ role: 'owner' }]);
  expect(first.text).not.toContain(cookie.split('=')[1]?.split(';')[0]);
});

test('says how people can sign in', async () => {
  const answer = await app.request('GET', '/api/v1/auth/methods');
  expect(answer.body.data).toEqual({ provider: null, local: true });
});
