// @module-tag long
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { BrowserAnswer } from '../server/testing/browser.ts';
import { type ProviderApp, publicUrl, startProviderApp } from '../server/testing/provider-app.ts';
import { startTestApp } from '../server/testing/test-app.ts';
import { holdfast, holdfastProcess, main } from './testing.ts';

const ada = { sub: 'ada-1', email: 'ada@example.com', email_verified: true, name: 'Ada Lovelace' };

let house: ProviderApp;
let folder: string;
beforeAll(async () => {
  house = await startProviderApp();
  folder = await mkdtemp(join(tmpdir(), 'holdfast-browser-'));
});
afterAll(async () => {
  await house.close();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(() => {
  house.provider.account = ada;
  vi.stubEnv('HOLDFAST_CONFIG', join(folder, 'config', 'config.json'));
});
afterEach(() => vi.unstubAllEnvs());

interface Login {
  readonly child: ChildProcessWithoutNullStreams;
  /** The address that the person is asked to open. */
  readonly address: string;
  readonly said: () => string;
}

/** Starts `holdfast login` and leaves it waiting for a person. */
async function waitingLogin({ app } = house): Promise<Login> {
  const words = ['login', '--url', app.address, '--no-browser'];
  const child = spawn(process.execPath, [main, ...words], { env: process.env });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (piece) => {
      text += String(piece);
    });
  await expect.poll(() => text).toContain('paste its address here');
  return { child, address: addressIn(text), said: () => text };
}

const addressIn = (text: string) => /^http\S+$/m.exec(text)?.[0] ?? '';

/** Follows the browser's redirects, up to this machine's own port or into it. */
function browseFrom(address: string, into = true, { app, browse } = house): Promise<BrowserAnswer> {
  const asTheProxyHasIt = address.replace(app.address, publicUrl);
  return browse().open(asTheProxyHasIt, into ? undefined : (url) => url.includes('/signed-in?'));
}

async function ended({ child, said }: Login): Promise<[number, string]> {
  if (child.exitCode === null) await once(child, 'exit');
  return [child.exitCode ?? -1, said()];
}

test('a person signs in with the browser of this machine, which then says that it is done', {
  timeout: 60_000,
}, async () => {
  const login = await waitingLogin();
  const page = await browseFrom(login.address);
  expect([page.status, page.text]).toEqual([200, expect.stringContaining('You can close this window')]);
  expect(page.headers.get('cache-control')).toBe('no-store');
  expect(await ended(login)).toEqual([0, expect.stringContaining(ada.email)]);
  expect(login.said()).toContain('`holdfast organization create <name>` founds one');
  const kept = JSON.parse(await readFile(join(folder, 'config', 'config.json'), 'utf8'));
  expect(kept).toMatchObject({ url: house.app.address, refreshToken: expect.any(String) });
  expect((await holdfast('whoami')).out).toContain(ada.email);
});

test('at a terminal the browser is opened, and --no-browser opens none', async () => {
  const opened = join(folder, 'opened');
  const browser = join(folder, 'browser');
  await writeFile(browser, `#!/bin/sh\nprintf %s "$1" > "${opened}.part" && mv "${opened}.part" "${opened}"\n`);
  await chmod(browser, 0o755);
  vi.stubEnv('BROWSER', browser);
  const unopened = await waitingLogin();
  unopened.child.kill('SIGINT');
  expect(await ended(unopened)).toEqual([130, expect.stringContaining('CANCELLED: Stopped; nobody was signed in.\n')]);
  await expect(readFile(opened)).rejects.toThrow('ENOENT');

  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  const spy = vi.spyOn(process, 'stdin', 'get').mockReturnValue(stdin as never);
  const login = holdfast('login', '--url', house.app.address, '--json');
  const read = () => readFile(opened, 'utf8').catch(() => '');
  await expect.poll(read).toContain('code_challenge_method=S256');
  await browseFrom(await read());
  const { code, json, error } = await login;
  expect([code, json], error).toEqual([0, expect.objectContaining({ kind: 'person', email: ada.email })]);
  spy.mockRestore();
});

test('over ssh a person pastes the address that the browser could not load', async () => {
  const login = await waitingLogin();
  const { url } = await browseFrom(login.address, false);
  login.child.stdin.write(`${url.replace(/state=[^&]+/, 'state=another')}\n`);
  await expect.poll(login.said).toContain('not the address that this sign-in ends at');
  login.child.stdin.write(`  ${url}\n`);
  expect(await ended(login)).toEqual([0, expect.stringContaining(ada.email)]);
});

test('nobody else on the machine can answer, and what they read on the way is useless to them', {
  timeout: 60_000,
}, async () => {
  const login = await waitingLogin();
  const { url } = await browseFrom(login.address, false);
  const [target, query] = [new URL(url).origin, new URL(url).searchParams];
  const code = query.get('code') as string;
  for (const path of ['/', '/signed-in', `/signed-in?code=${code}`, `/signed-in?code=${code}&state=ä`, '//[/'])
    expect((await fetch(`${target}${path}`)).status, path).toBe(404);
  expect((await fetch(url, { method: 'POST' })).status).toBe(404);
  const body = { code, grant_type: 'authorization_code' };
  expect((await house.app.request('POST', '/api/v1/auth/token', { body })).status).toBe(401);
  expect(login.child.exitCode).toBeNull();
  expect((await fetch(url)).status).toBe(200);
  expect(await ended(login)).toEqual([0, expect.stringContaining(ada.email)]);
  await expect(fetch(url)).rejects.toThrow();
});

test('a refused consent, a forgotten secret and a service without a provider are reported', {
  timeout: 60_000,
}, async () => {
  house.provider.account = undefined;
  const refused = await waitingLogin();
  expect((await browseFrom(refused.address)).text).toContain('Not signed in');
  expect(await ended(refused)).toEqual([9, expect.stringContaining('The consent was refused.')]);

  const forgotten = await holdfastProcess(['login', '--url', house.app.address]);
  expect([forgotten.code, forgotten.error]).toEqual([2, expect.stringContaining('--api-key')]);
  const local = await startTestApp();
  const nobody = await holdfastProcess(['login', '--url', local.address, '--no-browser']);
  expect([nobody.code, nobody.error]).toEqual([2, expect.stringContaining('Give the sign-in link')]);
  await local.close();
});

test('a person whom the service refuses gets the reason where the command waits', async () => {
  const closed = await startProviderApp({ SIGN_UP_POLICY: 'invited' });
  closed.provider.account = ada;
  const founder = await waitingLogin(closed);
  await browseFrom(founder.address, true, closed);
  expect((await ended(founder))[0]).toBe(0);
  closed.provider.account = { ...ada, sub: 'eve-1', email: 'eve@example.com' };
  const stranger = await waitingLogin(closed);
  expect((await browseFrom(stranger.address, true, closed)).text).toContain('Not signed in');
  expect(await ended(stranger)).toEqual([9, expect.stringContaining('Only people who were invited may sign up')]);
  await closed.close();
});
