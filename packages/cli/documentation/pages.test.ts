// @module-tag long
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readDocument, shellBlocks } from '../../server/testing/documentation.ts';
import { testMasterKey } from '../../server/testing/test-app.ts';
import { createTestDatabase } from '../../server/testing/test-database.ts';

const root = join(import.meta.dirname, '../../..');
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-pages-'));
  for (const name of ['packages', 'node_modules', 'package.json']) await symlink(join(root, name), join(folder, name));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs one line in a shell until it ends, or until it has printed the expected text. */
async function run(line: string, env: Record<string, string>, ready?: RegExp) {
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
  const shell: ChildProcess = spawn('bash', ['-c', `exec ${line}`], {
    cwd: folder,
    env: { PATH, HOME: folder, NODE_COMPILE_CACHE, ...env },
    detached: true,
  });
  let said = '';
  const stop = () => process.kill(-(shell.pid as number), 'SIGTERM');
  const listen = (piece: unknown) => {
    said += String(piece);
    if (ready?.test(said)) stop();
  };
  shell.stdout?.on('data', listen);
  shell.stderr?.on('data', listen);
  const [code] = (await once(shell, 'close')) as [number | null];
  return { code, said };
}

const lines = (document: string) => shellBlocks(document).flatMap(({ text }) => text.trimEnd().split('\n'));

test('docs/sandbox.md and docs/sandbox-storage.md start what they say, with the installed Node', {
  timeout: 120_000,
}, async () => {
  const commands = [...lines('docs/sandbox.md'), ...lines('docs/sandbox-storage.md')];
  expect(commands).toHaveLength(3);
  const outcomes = await Promise.all(
    commands.map((line) =>
      run(line.replace(/--port \d+/, '--port 0'), {}, /http:\/\/127\.0\.0\.1:\d+\n|HOST=[\s\S]*CONTROL=\S+\n/),
    ),
  );
  for (const { said } of outcomes) expect(said).toMatch(/127\.0\.0\.1:\d+/);
});

test('what sentences name to start or to look at works', async () => {
  const sandbox = (name: string) => `npx node packages/sandbox/${name}/main.ts`;
  for (const [name, setting] of [
    ['firestore', 'FIRESTORE_EMULATOR_HOST'],
    ['google', 'GOOGLE_API_ENDPOINTS'],
    ['s3', 'http://127'],
    ['gcs', 'http://127'],
  ] as const) {
    const { said } = await run(sandbox(name), {}, /127\.0\.0\.1:\d+/);
    expect(said, name).toContain(setting);
  }
  const speed = await run('npx node packages/sandbox/firestore/bench/run-query.ts 1000 1', {});
  expect([speed.code, speed.said]).toEqual([0, expect.stringMatching(/1000 documents .* documents\/s/)]);
  const settings = await run('npm run config', {});
  expect([settings.code, settings.said]).toEqual([0, expect.stringContaining('OIDC_ISSUER')]);
  const pages = await run('npx vite packages/web --port 0', { NO_COLOR: '1' }, /Local: +http/);
  expect(pages.said).toMatch(/Local: +http:\/\/(localhost|127)/);
});

test('`npm run dev` is a start that watches', async () => {
  const database = await createTestDatabase();
  const env = { PORT: '0', DATABASE_URL: database.url, MASTER_KEY: testMasterKey, HOLDFAST_DATA: join(folder, 'dev') };
  const { said } = await run('npm run dev', { ...env, SHUTDOWN_GRACE_SECONDS: '1' }, /Holdfast is running at http/);
  expect(said).toMatch(/node --watch/);
  await database.drop();
});

test('docs/keys.md replaces the master key in the data folder', async () => {
  const database = await createTestDatabase();
  const data = join(folder, 'keys');
  await mkdir(data);
  await writeFile(join(data, 'master.key'), `${testMasterKey}\n`, { mode: 0o600 });
  const { code, said } = await run('npm run rotate-master-key', { DATABASE_URL: database.url, HOLDFAST_DATA: data });
  expect([code, said]).toEqual([0, expect.stringContaining('Nothing here needs the old key any more')]);
  expect((await readFile(join(data, 'master.key'), 'utf8')).trim()).not.toBe(testMasterKey);
  await database.drop();
});

test('docs/keys.md replaces a master key that the operator keeps, step by step, and each step starts', {
  timeout: 240_000,
}, async () => {
  const page = readDocument('docs/keys.md');
  const [command = ''] = /npm run rotate-master-key -- [^`]+/.exec(page) ?? [];
  const database = await createTestDatabase();
  const newKey = randomBytes(32).toString('base64');
  const settle = (key: string, previous: string) =>
    writeFile(
      join(folder, 'holdfast.env'),
      `DATABASE_URL=${database.url}\nMASTER_KEY=${key}\nMASTER_KEYS_PREVIOUS=${previous}\nPORT=0\nSHUTDOWN_GRACE_SECONDS=1\n`,
    );
  const isStarted = async () => {
    const { said } = await run('npm start -- --env-file holdfast.env', {}, /is running at|refused|sealed under/);
    return /is running at/.test(said) ? true : said;
  };
  await settle(testMasterKey, '');
  expect(await isStarted()).toBe(true);
  for (const [key, previous] of [
    [testMasterKey, newKey],
    [newKey, testMasterKey],
  ] as const) {
    await settle(key, previous);
    expect(await isStarted(), page).toBe(true);
  }
  const { code, said } = await run(command, {});
  expect([code, said]).toEqual([0, expect.stringContaining('Nothing here needs the old key any more')]);
  await settle(newKey, '');
  expect(await isStarted()).toBe(true);
  await settle(testMasterKey, '');
  expect(await isStarted()).toContain('was sealed under another master key');
  await database.drop();
});

test('docs/identity.md replaces the key that signs', { timeout: 120_000 }, async () => {
  const database = await createTestDatabase();
  const env = { DATABASE_URL: database.url, MASTER_KEY: testMasterKey, HOLDFAST_DATA: join(folder, 'data') };
  const [line] = lines('docs/identity.md') as [string];
  const { code, said } = await run(line, env);
  expect(said).toContain('A new key signs access tokens from now on.');
  expect(code).toBe(0);
  await database.drop();
});
