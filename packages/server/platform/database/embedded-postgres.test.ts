// @module-tag long
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLogger } from '../log.ts';
import { DataFolderInUse, type EmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres.ts';

const log = createLogger('silent');
let folder: string;
let server: EmbeddedPostgres | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-embedded-'));
  // Accessible to the user of the server process, so that the database is created in here and removed with it.
  await chmod(folder, 0o755);
});
afterEach(async () => {
  await server?.stop();
  server = undefined;
  await rm(folder, { recursive: true, force: true });
});

const start = () => startEmbeddedPostgres({ folder, log, unsafeFast: true });

async function ask(url: string, text: string): Promise<unknown> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return Object.values((await client.query(text)).rows[0] ?? {})[0];
  } finally {
    await client.end();
  }
}

/** Another process that starts the server of the folder and keeps running. */
async function startElsewhere(): Promise<ChildProcess> {
  const child = startInProcess();
  await once(createInterface(child.stdout as NodeJS.ReadableStream), 'line');
  return child;
}

function startInProcess(): ChildProcess {
  const module = fileURLToPath(new URL('./embedded-postgres.ts', import.meta.url));
  const logModule = fileURLToPath(new URL('../log.ts', import.meta.url));
  const script = `const { startEmbeddedPostgres } = await import(${JSON.stringify(module)});
    const { createLogger } = await import(${JSON.stringify(logModule)});
    const server = await startEmbeddedPostgres({ folder: ${JSON.stringify(folder)}, log: createLogger('silent'), unsafeFast: true });
    console.log(server.url); setInterval(() => undefined, 1000);`;
  return spawn(process.execPath, ['--input-type=module', '--eval', script], { stdio: ['ignore', 'pipe', 'inherit'] });
}

test('a server left behind by a killed process is adopted with its data, and stopped in the end', async () => {
  const child = await startElsewhere();
  child.kill('SIGKILL');
  await once(child, 'exit');
  server = await start();
  expect(await ask(server.url, 'select current_database()')).toBe('holdfast');
  const { url } = server;
  await server.stop();
  server = undefined;
  await expect(ask(url, 'select 1')).rejects.toThrow();
});

test('a second instance on the same data is refused by name, and the first goes on', async () => {
  server = await start();
  await expect(start()).rejects.toThrow(DataFolderInUse);
  await expect(start()).rejects.toThrow(/is in use by another Holdfast \(holdfast pid \d+\)/);
  expect(await ask(server.url, 'select 1')).toBe(1);
});

test('of several first starts at the same moment one goes on, and its data is found again', async () => {
  const starts = await Promise.allSettled(Array.from({ length: 4 }, start));
  const [begun, ...others] = starts.filter((one) => one.status === 'fulfilled');
  expect(others).toEqual([]);
  for (const one of starts) if (one.status === 'rejected') expect(one.reason).toBeInstanceOf(DataFolderInUse);
  server = begun?.value;
  await ask(server!.url, 'create table kept (n int)');
  await server!.stop();
  server = await start();
  expect(await ask(server.url, 'select count(*)::int from kept')).toBe(0);
  expect((await readdir(folder)).sort()).toEqual(['postgres', 'postgres.log', 'postgres.password']);
});

test('a first start that was killed is repeated, and leaves no files behind', async () => {
  const child = startInProcess();
  await expect.poll(() => readdir(folder)).toContainEqual(expect.stringMatching(/^postgres\.new/));
  child.kill('SIGKILL');
  await once(child, 'exit');
  server = await start();
  expect(await ask(server.url, 'select 1')).toBe(1);
  expect((await readdir(folder)).sort()).toEqual(['postgres', 'postgres.log', 'postgres.password']);
});

test('data survives a stop and a start', async () => {
  server = await start();
  await ask(server.url, 'create table kept (n int)');
  await ask(server.url, 'insert into kept values (7)');
  await server.stop();
  server = await start();
  expect(await ask(server.url, 'select n from kept')).toBe(7);
});

test('the server runs without privileges, and only its owner can read its password', async () => {
  server = await start();
  expect((await stat(join(folder, 'postgres.password'))).mode & 0o077).toBe(0);
  const [pid = ''] = (await readFile(join(folder, 'postgres', 'postmaster.pid'), 'utf8')).split('\n');
  const { stdout } = await promisify(execFile)('ps', ['-o', 'uid=', '-p', pid]);
  expect(Number(stdout)).toBeGreaterThan(0);
});
