import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Firestore } from '@google-cloud/firestore';
import { loadSample } from '@holdfast/sandbox';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { foundOrganization } from '../server/testing/people.ts';
import { type ProtectedProject, protectProject } from '../server/testing/protected-project.ts';
import { openSession } from '../server/testing/sessions.ts';
import { startTestApp, type TestApp } from '../server/testing/test-app.ts';
import { createProgram } from './program.ts';
import { runCommand } from './run-command.ts';
import type { Job } from './service/jobs.ts';
import { ProgressBoard } from './service/progress-board.ts';
import { reportRestoreEnd } from './service/restore/show.ts';
import { connect, signInOf } from './service/session.ts';

const documents = 300;
const database = { project: 'shop', database: '(default)' };

let app: TestApp;
let shop: ProtectedProject;
let firestore: Firestore;
let folder: string;
let apiKey: string;

interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly error: string;
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what the tests are about
  readonly json: any;
}

beforeAll(async () => {
  app = await startTestApp();
  shop = await protectProject(app);
  folder = await mkdtemp(join(tmpdir(), 'holdfast-cli-'));
  loadSample(shop.firestore.control.database(database), { documents, seed: 7 });
  process.env.METADATA_SERVER_DETECTION = 'none';
  process.env.FIRESTORE_EMULATOR_HOST = shop.firestore.address;
  firestore = new Firestore({ projectId: 'shop' });
  const account = await app.request('POST', '/api/v1/organizations/current/service-account', {
    token: shop.owner.token,
    organizationId: shop.organizationId,
    body: { name: 'Pipeline', permissions: ['backups:write', 'projects:read', 'organization:read'] },
  });
  apiKey = account.body.data.apiKey;
});
afterAll(async () => {
  await firestore.terminate();
  vi.unstubAllEnvs();
  delete process.env.FIRESTORE_EMULATOR_HOST;
  delete process.env.METADATA_SERVER_DETECTION;
  await app.close();
  await shop.close();
  await rm(folder, { recursive: true, force: true });
});

beforeEach(() => {
  vi.stubEnv('HOLDFAST_CONFIG', join(folder, 'config', 'config.json'));
  vi.stubEnv('HOLDFAST_URL', app.address);
  vi.stubEnv('HOLDFAST_TOKEN', shop.owner.token);
  vi.stubEnv('HOLDFAST_API_KEY', '');
  vi.stubEnv('HOLDFAST_ORGANIZATION', shop.organizationId);
});
afterEach(() => vi.unstubAllEnvs());

/** A command line in this process, its output captured. */
async function holdfast(...words: string[]): Promise<Outcome> {
  const [out, error] = [capture(process.stdout), capture(process.stderr)];
  const before = process.exitCode;
  process.exitCode = 0;
  try {
    const argv = ['node', 'holdfast', ...words];
    await runCommand(await createProgram(argv), argv);
    return outcome(Number(process.exitCode), out.text(), error.text());
  } finally {
    process.exitCode = before;
    out.end();
    error.end();
  }
}

function capture(stream: NodeJS.WriteStream) {
  const pieces: string[] = [];
  const spy = vi.spyOn(stream, 'write').mockImplementation((piece) => {
    pieces.push(String(piece));
    return true;
  });
  return { text: () => pieces.join(''), end: () => spy.mockRestore() };
}

function outcome(code: number, out: string, error: string): Outcome {
  return { code, out, error, json: parse(out) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const main = new URL('./main.ts', import.meta.url).pathname;

/** A command line as people run it, in a process of its own. */
async function holdfastProcess(words: string[], input = ''): Promise<Outcome> {
  return await new Promise((resolve) => {
    const child = execFile(process.execPath, [main, ...words], { env: process.env }, (error, out, errorText) =>
      resolve(outcome(error === null ? 0 : Number(error.code), out, errorText)),
    );
    child.stdin?.end(input);
  });
}

async function backUp(...words: string[]): Promise<string> {
  const { code, json, error } = await holdfast('backup', 'Shop', '--wait', '--json', ...words);
  expect(code, error).toBe(0);
  return json.id;
}

describe('backups', () => {
  test('are made, looked into, compared, exported, held and deleted from the command line', async () => {
    const plan = await holdfast('backup', 'Shop', '--dry-run', '--json');
    expect(plan.json).toMatchObject({ dryRun: true, documentCount: documents });

    const made = await holdfast('backup', 'create', shop.projectId, '--wait');
    expect(made.code, made.error).toBe(0);
    expect(made.out).toMatch(/Status +completed/);
    expect(made.error).toMatch(/bkp_\w+ {2}█{24} 100 % {2}completed {2}300 documents/);
    const id = /bkp_\w+/.exec(made.out)![0];

    expect((await holdfast('backup', 'list', '--project', 'shop', '--json')).json).toMatchObject({
      backups: [{ id, status: 'completed' }],
      hasMore: false,
    });
    expect((await holdfast('backup', 'show', 'latest:Shop', '--json')).json).toMatchObject({
      id,
      documentCount: documents,
    });
    const verified = await holdfast('backup', 'verify', id, '--wait', '--json');
    expect([verified.code, verified.json.verification.status]).toEqual([0, 'passed']);

    const tree = (await holdfast('backup', 'browse', id, '--json')).json.collections;
    const { path: collection } = tree[0];
    const page = (await holdfast('backup', 'browse', id, collection, '--limit', '2', '--json')).json;
    expect(page).toMatchObject({ hasMore: true, documents: [{}, {}] });
    const { path } = page.documents[0];
    expect((await holdfast('backup', 'get', id, path)).json).toEqual(page.documents[0]);

    const file = join(folder, 'export.ndjson');
    expect((await holdfast('backup', 'export', id, '--output', file)).code).toBe(0);
    expect((await readFile(file, 'utf8')).trimEnd().split('\n')).toHaveLength(documents);

    expect(await holdfast('backup', 'diff', id, '--json')).toMatchObject({
      code: 0,
      json: { summary: { added: 0, removed: 0, changed: 0 } },
    });
    await firestore.doc('new/one').set({ hello: 'world' });
    expect(await holdfast('backup', 'diff', id)).toMatchObject({
      code: 8,
      out: '+ new/one\n1 added, 0 removed, 0 changed.\n',
    });

    const increment = await backUp('--type', 'incremental');
    expect((await holdfast('backup', 'show', increment, '--json')).json).toMatchObject({ parentId: id });
    const used = await holdfast('backup', 'delete', id);
    expect(used).toMatchObject({ code: 10, out: '' });
    expect(used.error).toMatch(/RESOURCE_IN_USE: .*\nUsed by backup bkp_\w+\.\nRequest \w+/);

    expect((await holdfast('backup', 'hold', increment, '--json')).json.legalHold).toBe(true);
    expect((await holdfast('backup', 'delete', increment)).code).toBe(10);
    expect((await holdfast('backup', 'release', increment, '--json')).json.legalHold).toBe(false);
    expect((await holdfast('backup', 'delete', increment, '--json')).json).toEqual({ id: increment, deleted: true });
    expect((await holdfast('backup', 'show', increment)).code).toBe(5);
    await firestore.doc('new/one').delete();
  });

  test('that fail end with the exit code of their failure and say how to mend it', async () => {
    const cancelled = await holdfast('backup', 'cancel', 'latest:Shop');
    expect([cancelled.code, cancelled.error.split(':')[0]]).toEqual([10, 'INVALID_STATE']);
    const project = await holdfast(
      ...['project', 'add', 'Small', '--source', 'shop', '--emulator', shop.firestore.address],
      ...['--max-reads', '10', '--json'],
    );
    const over = await holdfast('backup', 'Small', '--wait', '--json');
    expect(over).toMatchObject({ code: 11, json: { status: 'failed', error: { code: 'READ_BUDGET_EXCEEDED' } } });
    expect((await holdfast('project', 'remove', project.json.id, '--json')).json.removed).toBe(true);
  });

  test('that are damaged are told apart from good ones, and half an export is none', async () => {
    const id = await backUp();
    const segments = join(app.folder, 'storage', shop.organizationId, 'backups', id, 'segments');
    const [segment] = await readdir(segments);
    await writeFile(join(segments, segment!), 'not what was written');
    const verified = await holdfast('backup', 'verify', id, '--wait');
    expect([verified.code, verified.out]).toEqual([3, expect.stringMatching(/^Damaged: /)]);
    expect((await holdfast('drill', id, '--wait')).code).toBe(3);
    const file = join(folder, 'damaged.ndjson');
    expect([3, 6]).toContain((await holdfast('backup', 'export', id, '-o', file)).code);
    expect((await readdir(folder)).filter((name) => name.startsWith('damaged'))).toEqual([]);
    expect((await holdfast('backup', 'delete', id)).code).toBe(0);
  });

  test('are followed to their end though the connection breaks on the way', async () => {
    const { fetch } = globalThis;
    let opened = 0;
    const breaking = vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
      const response = await fetch(input, init);
      if (!String(input).endsWith('/events') || ++opened > 2) return response;
      await response.body?.cancel();
      const body = new ReadableStream({ start: (stream) => stream.error(new Error('reset')) });
      return new Response(body, { headers: response.headers });
    });
    try {
      await backUp('--collections', 'none');
      expect(opened).toBeGreaterThan(2);
    } finally {
      breaking.mockRestore();
    }
  });
});

describe('restores', () => {
  test('are tried, run, listed and undone from the command line; a drill proves the backup', async () => {
    const backupId = await backUp();
    const [first] = (await holdfast('backup', 'browse', backupId, '--prefix', 'a', '--limit', '1', '--json')).json
      .documents;
    const path = first?.path ?? 'users/none';
    await firestore.doc(path).set({ overwritten: true });

    const tried = await holdfast('restore', backupId, '--documents', path, '--dry-run', '--json');
    expect(tried).toMatchObject({ code: 0, json: { dryRun: true, preview: { replace: 1, create: 0 } } });
    const done = await holdfast('restore', backupId, '--documents', path, '--wait');
    expect(done.code, done.error).toBe(0);
    expect(done.out).toMatch(/Restored +1 documents\nSafety backup +bkp_/);
    expect((await holdfast('backup', 'diff', backupId)).code).toBe(0);

    const id = /rst_\w+/.exec(done.out)![0];
    const { restores } = (await holdfast('restore', 'list', '--backup', backupId, '--json')).json;
    expect(restores.map((entry: { id: string }) => entry.id)).toContain(id);
    expect((await holdfast('restore', 'show', id)).out).toMatch(/Phase +Completed/);
    expect((await holdfast('restore', 'cancel', id)).code).toBe(10);
    expect((await holdfast('restore', 'resume', id)).code).toBe(10);

    const drill = await holdfast('drill', backupId, '--wait');
    expect(drill, drill.error).toMatchObject({ code: 0 });
    expect(drill.out).toMatch(/^Passed: 300 of 300 documents equal, restored in [\d.]+ s\.\n$/);
    expect((await holdfast('drill', 'list', backupId, '--json')).json.drills).toMatchObject([{ passed: true }]);
  });

  test('that fail say so, can be resumed, and differ from those that wrote a part', async () => {
    const backupId = await backUp();
    const [{ path }] = (await holdfast('backup', 'browse', backupId, '--prefix', 'a', '--json')).json.documents;
    shop.firestore.control.deny({ project: 'shop', access: 'write' });
    const failed = await holdfast('restore', backupId, '--documents', path, '--wait', '--no-safety-backup', '--json');
    shop.firestore.control.clearAccess();
    expect(failed).toMatchObject({ code: 9, json: { error: { code: 'RESTORE_PERMISSION_DENIED' } } });
    const resumed = await holdfast('restore', 'resume', failed.json.id, '--wait', '--json');
    expect(resumed).toMatchObject({ code: 0, json: { status: 'completed' } });

    const before = process.exitCode;
    const { error } = failed.json;
    reportRestoreEnd({ status: 'failed', error, errors: { count: 2, sample: [] }, documentsRestored: 5 });
    expect(process.exitCode).toBe(7);
    process.exitCode = before;
  });
});

describe('projects and storage', () => {
  test('are connected, tested, estimated and removed from the command line', async () => {
    const tree = (await holdfast('project', 'collections', 'Shop', '--json')).json.collections;
    expect(tree.length).toBeGreaterThan(1);
    expect((await holdfast('project', 'cost', 'Shop', '--json')).json.full.reads).toBeGreaterThanOrEqual(documents);
    expect((await holdfast('project', 'show', 'shop')).out).toMatch(/Connection +emulator, connected/);
    expect((await holdfast('project', 'reconnect', 'Shop')).out).toBe('The project is connected.\n');
    expect((await holdfast('project', 'list')).out).toContain(shop.projectId);

    const added = await holdfast('storage', 'add', 'Second', '--type', 'local', '--path', 'storage/second', '--json');
    expect(added, added.out).toMatchObject({ code: 0, json: { name: 'Second', status: 'connected' } });
    expect((await holdfast('storage', 'test', 'Second')).out).toMatch(/✔ +write/);
    const both = await backUp('--storage', 'Folder', 'Second', '--collections', 'none');
    expect((await holdfast('backup', 'show', both, '--json')).json.copies).toHaveLength(2);
    expect((await holdfast('storage', 'remove', 'Second')).code).toBe(10);
    const swept = await holdfast('storage', 'sweep', 'Second', '--wait', '--json');
    expect(swept).toMatchObject({ code: 0, json: { kind: 'sweep', status: 'completed' } });
    expect((await holdfast('storage', 'sweep', 'Second', '--dry-run', '--json')).json.orphans).toEqual([]);
    expect((await holdfast('storage', 'rescan', 'Second', '--wait')).out).toMatch(/completed, .*found 1/);
    expect((await holdfast('storage', 'list', '--json')).json.storageDestinations).toHaveLength(2);
    await holdfast('backup', 'delete', both);
    expect((await holdfast('storage', 'remove', 'Second', '--json')).json).toEqual({
      id: added.json.id,
      removed: true,
    });
    expect((await holdfast('storage', 'show', 'Second')).code).toBe(5);
  });

  test('secrets of a bucket come from the environment or a file, never from an argument', async () => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', '');
    const add = ['storage', 'add', 'Bucket', '--type', 's3', '--bucket', 'acme', '--access-key-id', 'AK'];
    expect((await holdfast(...add)).error).toContain('--secret-access-key-file or AWS_SECRET_ACCESS_KEY');
    await writeFile(join(folder, 'secret'), 'very secret\n');
    const guarded = await holdfast(
      ...[...add, '--secret-access-key-file', join(folder, 'secret'), '--endpoint', 'http://127.0.0.1:9', '--json'],
    );
    expect(guarded.code, guarded.out).not.toBe(0);
    expect(guarded.out + guarded.error).not.toContain('very secret');
  });
});

describe('status', () => {
  test('watches everything that waits or runs until it has ended, also over several jobs at once', async () => {
    expect((await holdfast('status')).out).toBe('Nothing waits or runs.\n');
    const first = (await holdfast('backup', 'Shop', '--json')).json.id;
    const second = (await holdfast('backup', 'Shop', '--json')).json.id;
    const watched = await holdfast('status', '--watch', '--json');
    expect(watched.code, watched.error).toBe(0);
    const lines = watched.out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Job);
    for (const id of [first, second])
      expect(lines.filter((line) => line.id === id).at(-1)).toMatchObject({ status: 'completed' });
    const one = await holdfast('status', second, '--watch');
    expect(one).toMatchObject({ code: 0 });
    expect(one.out).toMatch(/Status +completed/);
    expect((await holdfast('status', 'prj_1')).code).toBe(2);
  });

  test('draws a bar for each job in place on a terminal, and a line for each tenth into a log', () => {
    const written: string[] = [];
    const stream = { isTTY: true, columns: 60, write: (text: string) => written.push(text) > 0 };
    const board = new ProgressBoard({}, stream);
    const job = (id: string, percent: number): Job => ({
      id,
      status: 'running',
      progress: { percent, phase: 'reading', documents: percent * 10, bytes: 0, etaSeconds: null },
      error: null,
    });
    board.update([job('bkp_a', 0), job('rst_b', 50)]);
    board.finish();
    expect(written[0]!.split('\n')).toEqual([
      expect.stringMatching(/^bkp_a {2}░{24} {3}0 % {2}reading$/),
      expect.stringMatching(/^rst_b {2}█{12}░{12} {2}50 % {2}reading/),
      '',
    ]);
    expect(written[0]!.split('\n').every((line) => line.length < 60)).toBe(true);
    expect(written[1]).toBe('\u001b[2A\r\u001b[J');

    written.length = 0;
    const log = new ProgressBoard({}, { ...stream, isTTY: false });
    for (let percent = 0; percent <= 100; percent += 1) log.update([job('bkp_a', percent)]);
    log.finish();
    expect(written).toHaveLength(11);
    const silent = new ProgressBoard({ json: true }, stream);
    silent.update([job('bkp_a', 1)]);
    expect(written).toHaveLength(11);
  });
});

describe('a sign-in', () => {
  const config = () => join(folder, 'config', 'config.json');
  const stored = async () => JSON.parse(await readFile(config(), 'utf8'));
  beforeEach(() => {
    for (const name of ['HOLDFAST_URL', 'HOLDFAST_TOKEN', 'HOLDFAST_ORGANIZATION']) vi.stubEnv(name, '');
  });

  test('with an API key from the input is kept in a file that only its owner can read', {
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
    expect((await holdfast('login', app.signInLink ?? '')).code).toBe(9);
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

  test('of a person with several organizations has to choose one', async () => {
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

describe('a command line', () => {
  test('that is wrong, refused or out of reach has an exit code and a sentence of its own', async () => {
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

  test('that is interrupted stops at once and leaves the job to the service', { timeout: 30_000 }, async () => {
    shop.firestore.control.addFault({ method: 'RunQuery', latencyMs: 60_000 });
    const child = spawn(process.execPath, [main, 'backup', 'Shop', '--wait'], { env: process.env });
    const [told, code] = await new Promise<[string, number | null]>((resolve) => {
      let text = '';
      child.stderr.on('data', (piece) => {
        if (text === '') child.kill('SIGINT');
        text += piece;
      });
      child.once('close', (exit) => resolve([text, exit]));
    });
    expect([code, told]).toEqual([
      130,
      expect.stringContaining('CANCELLED: Stopped; what the service has begun goes on'),
    ]);
    const [job] = (await holdfast('status', '--json')).json.jobs;
    expect((await holdfast('backup', 'cancel', job.id, '--json')).json.status).toBe('cancelled');
    expect((await holdfast('status', job.id, '--watch', '--json')).code).toBe(130);
    shop.firestore.control.clearFaults();
  });
});
