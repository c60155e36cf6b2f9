import { spawn } from 'node:child_process';
import { accessSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endProcess, freePort, untilListening } from '../../../engine/testing/foreign-process.ts';
import { createTestDatabase } from '../../testing/test-database.ts';
import { StartFailure } from '../start-failure.ts';
import { refuseSharedSessions } from './shared-sessions.ts';

const program = '/usr/sbin/pgbouncer';
let database: Awaited<ReturnType<typeof createTestDatabase>>;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

function isInstalled(): boolean {
  try {
    accessSync(program);
    return true;
  } catch {
    return false;
  }
}

/** The database through PgBouncer with these settings. */
async function throughPooler(settings: { pool_mode: string }, work: (url: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-pooler-'));
  const { username, password, port, pathname } = new URL(database.url);
  const listenPort = await freePort();
  // The settings are already in place, so only the sessions are left to check.
  const connectQuery =
    settings.pool_mode === 'transaction' ? { connect_query: `'set search_path = public, pg_temp'` } : {};
  const user = { user: username, password: decodeURIComponent(password) };
  const server = { host: '127.0.0.1', port, ...user, ...connectQuery };
  const text = (values: object) =>
    Object.entries(values)
      .map(([name, value]) => `${name}=${value}`)
      .join('\n');
  const own = { listen_addr: '127.0.0.1', listen_port: listenPort, auth_type: 'any', unix_socket_dir: '', ...settings };
  const file = join(folder, 'pooler.ini');
  const target = text(server).replaceAll('\n', ' ');
  await writeFile(file, `[databases]\n* = ${target}\n[pgbouncer]\n${text(own)}\n`);
  await chmod(folder, 0o755);
  // PgBouncer does not run as root.
  const child = spawn(program, [...(process.getuid?.() === 0 ? ['-u', 'nobody'] : []), file], { stdio: 'ignore' });
  try {
    await untilListening(child, listenPort, 'The pooler');
    await work(`postgres://anybody@127.0.0.1:${listenPort}${pathname}`);
  } finally {
    child.kill('SIGKILL');
    await endProcess(child);
    await rm(folder, { recursive: true, force: true });
  }
}

const refusal = (url: string) =>
  refuseSharedSessions(url).then(
    () => undefined,
    (error: unknown) => error,
  );

test('a direct connection to the server is accepted', () => refuseSharedSessions(database.url));

describe.skipIf(!isInstalled())('a pooler before the database is refused at the start', () => {
  const ignored = { ignore_startup_parameters: 'options' };
  test.each([
    ['that hands sessions on', { pool_mode: 'transaction', ...ignored }, /hands sessions from one client to the next/],
    ['that does not take our settings', { pool_mode: 'transaction' }, /does not pass on the settings/],
    ['that keeps sessions and drops our settings', { pool_mode: 'session', ...ignored }, /drops the settings/],
  ])('%s', async (_name, settings, reason) => {
    await throughPooler(settings, async (url) => {
      const error = await refusal(url);
      expect(error).toBeInstanceOf(StartFailure);
      expect((error as Error).message).toMatch(reason);
      expect((error as Error).message).toMatch(/PostgreSQL server itself into DATABASE_URL/);
    });
  });
});
