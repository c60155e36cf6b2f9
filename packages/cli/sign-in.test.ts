import { spawn } from 'node:child_process';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { foundOrganization, signUp } from '../server/testing/people.ts';
import { openSession } from '../server/testing/sessions.ts';
import { connect, signInOf } from './service/session.ts';
import { apiKey, app, folder, holdfast, holdfastProcess, main, shop, useService } from './testing.ts';

useService();

describe('a sign-in', () => {
  const config = () => join(folder, 'config', 'config.json');
  const stored = async () => JSON.parse(await readFile(config(), 'utf8'));
  beforeEach(() => {
    for (const name of ['HOLDFAST_URL', 'HOLDFAST_TOKEN', 'HOLDFAST_ORGANIZATION']) vi.stubEnv(name, '');
  });

  test('with an API key from the input is stored in a file that only its owner can read', {
    tags: 'long',
    timeout: 30_000,
  }, async () => {
    const nobody = await holdfast('whoami');
    expect([nobody.code, nobody.error.split('\n')[0]]).toEqual([2, 'VALIDATION_ERROR: There is no service to ask.']);
    const login = await holdfastProcess(
      ['login', '--url', `${app.address}/`, '--api-key', '-', '--json'],
      `${apiKey}\n`,
    );
    expect(login, login.error).toMatchObject({ code: 0, json: { kind: 'key', organizationId: shop.organizationId } });
    expect(login.out + login.error).not.toContain(apiKey);
    expect((await stat(config())).mode & 0o777).toBe(0o600);
    expect((await stat(join(folder, 'config'))).mode & 0o777).toBe(0o700);
    expect(await stored()).toEqual({ url: app.address, token: apiKey, organizationId: shop.organizationId });

    expect((await holdfast('backup', 'list', '--limit', '1', '--json')).code).toBe(0);
    const beyond = await holdfast('storage', 'list', '--json');
    expect(beyond).toMatchObject({
      code: 9,
      json: { error: { code: 'FORBIDDEN', remedy: 'The API key needs the scope storage:read.' } },
    });
    expect(beyond.json.error.requestId).toMatch(/\w/);

    const elsewhere = await holdfast('whoami', '--url', 'http://127.0.0.1:9');
    expect([elsewhere.code, elsewhere.error]).toEqual([9, expect.stringContaining('Nobody is signed in at')]);
    expect((await holdfast('logout')).out).toBe(`Signed out from ${app.address}.\n`);
    await expect(stat(config())).rejects.toThrow();
  });

  test('with the link of a fresh installation renews itself, also beside other commands', async () => {
    const login = await holdfast('login', app.signInLink ?? '', '--json');
    expect(login, login.out).toMatchObject({ code: 0, json: { kind: 'person' } });
    const before = await stored();
    expect(before.refreshToken).toBeTruthy();
    const again = await holdfast('login', app.signInLink ?? '');
    expect([again.code, again.error]).toEqual([9, expect.stringContaining('`holdfast whoami` tells whether')]);
    expect(await stored()).toEqual(before);

    await writeFile(config(), JSON.stringify({ ...before, expiresAtMs: 0 }), { mode: 0o600 });
    const both = [await signInOf({}), await signInOf({})];
    const answers = await Promise.all(both.map((signIn) => connect(signIn).getMe()));
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
    const after = await stored();
    expect(after.refreshToken).not.toBe(before.refreshToken);
    expect((await holdfast('whoami', '--json')).json).toMatchObject({ kind: 'person', url: app.address });
    expect((await stat(config())).mode & 0o777).toBe(0o600);

    expect((await holdfast('logout', '--json')).json).toEqual({ signedOut: true, revoked: true });
    const refused = await app.request('GET', '/api/v1/auth/me', { token: after.token });
    expect(refused.status).toBe(401);
  });

  test('that has ended asks to sign in again', async () => {
    const { refreshToken } = await openSession(app, shop.owner.id);
    const login = await holdfast('login', '--url', app.address, '--refresh-token', refreshToken, '--json');
    expect(login.json).toMatchObject({ kind: 'person', email: shop.owner.email });
    const signIn = await stored();
    const session = await app.request('POST', '/api/v1/auth/logout', { token: signIn.token });
    expect(session.status).toBe(200);
    const ended = await holdfast('whoami');
    expect(ended).toMatchObject({ code: 9, out: '' });
    expect(ended.error).toBe('UNAUTHORIZED: The sign-in has ended.\nSign in again with `holdfast login`.\n');
    await writeFile(config(), '{');
    expect((await holdfast('whoami')).error).toContain('holds no sign-in');
    await rm(config());
  });

  test('of a person with several organizations needs a choice', async () => {
    const other = await foundOrganization(app, shop.owner);
    vi.stubEnv('HOLDFAST_URL', app.address);
    vi.stubEnv('HOLDFAST_TOKEN', shop.owner.token);
    const unclear = await holdfast('project', 'list');
    expect(unclear.code).toBe(2);
    expect(unclear.error).toContain(other);
    expect((await holdfast('project', 'list', '--organization', other)).out).toBe('There are none.\n');
    const strange = await holdfast('project', 'list', '--organization', 'org_none', '--json');
    expect(strange).toMatchObject({ code: 5, json: { error: { code: 'ORGANIZATION_NOT_FOUND' } } });
  });
});

describe('a person without an organization', () => {
  test('learns how to create one, creates it, and works in it from then on', async () => {
    for (const name of ['HOLDFAST_URL', 'HOLDFAST_TOKEN', 'HOLDFAST_ORGANIZATION']) vi.stubEnv(name, '');
    const newcomer = await signUp(app, 'newcomer@example.com');
    const { refreshToken } = await openSession(app, newcomer.id);
    await holdfast('login', '--url', app.address, '--refresh-token', refreshToken);
    const nowhere = await holdfast('project', 'list');
    expect([nowhere.code, nowhere.error]).toEqual([2, expect.stringContaining('holdfast organization create')]);
    const created = await holdfast('organization', 'create', 'Bakery', '--json');
    expect(created, created.error).toMatchObject({ code: 0, json: { name: 'Bakery' } });
    expect((await holdfast('project', 'list')).out).toBe('There are none.\n');
    expect((await holdfast('organization', 'rename', 'Old Bakery')).out).toBe(`${created.json.id}  Old Bakery\n`);
    expect((await holdfast('whoami')).out).toContain(`* ${created.json.id}  Old Bakery  (owner)`);
    await holdfast('logout');
  });
});

describe('a command line', () => {
  test('that is wrong, refused or without a service has its own exit code and message', async () => {
    expect((await holdfast('backup')).code).toBe(2);
    expect((await holdfast('backup', 'Shop', '--type', 'sideways')).code).toBe(2);
    expect((await holdfast('backup', 'Nothing')).error).toBe('PROJECT_NOT_FOUND: There is no project Nothing.\n');
    const invalid = await holdfast('backup', 'list', '--from', 'yesterday');
    expect([invalid.code, invalid.error]).toEqual([
      2,
      expect.stringMatching(/^VALIDATION_ERROR: from: .*\n(from: .*\n)?Request req_\w+\n$/),
    ]);
    const away = await holdfast('project', 'list', '--url', 'http://127.0.0.1:9', '--json');
    expect(away).toMatchObject({ code: 6, json: { error: { code: 'NETWORK_ERROR' } } });
    vi.stubEnv('HOLDFAST_TOKEN', 'nonsense');
    expect((await holdfast('project', 'list')).error).toContain('Sign in with `holdfast login`');
    expect((await holdfast('--help')).out).toContain('Exit codes:');
    expect((await holdfast('restore', '--help')).out).toMatch(/list \[options\][\s\S]*--no-safety-backup/);
  });

  test('that is interrupted stops at once and leaves the job to the service', {
    tags: 'long',
    timeout: 30_000,
  }, async () => {
    shop.firestore.control.addFault({ method: 'RunQuery', latencyMs: 60_000 });
    const child = spawn(process.execPath, [main, 'backup', 'Shop', '--wait'], { env: process.env });
    const [output, code] = await new Promise<[string, number | null]>((resolve) => {
      let text = '';
      child.stderr.on('data', (piece) => {
        if (text === '') child.kill('SIGINT');
        text += piece;
      });
      child.once('close', (exit) => resolve([text, exit]));
    });
    expect([code, output]).toEqual([
      130,
      expect.stringContaining('CANCELLED: Stopped; what the service has begun goes on'),
    ]);
    const [job] = (await holdfast('status', '--json')).json.jobs;
    expect((await holdfast('backup', 'cancel', job.id, '--json')).json.status).toBe('cancelled');
    expect((await holdfast('status', job.id, '--watch', '--json')).code).toBe(130);
    shop.firestore.control.clearFaults();
  });
});
