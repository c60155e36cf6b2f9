import { Socket } from 'node:net';
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';
import { queueSessionOptions } from '../queue.ts';
import { connectDatabase, type Transaction } from './database.ts';
import { functionCall } from './statement.ts';
import { outboxEvents } from './tables.ts';
import { TaskLocks } from './task-locks.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const never = new AbortController().signal;

test('a handle that is used after its transaction throws and does not run in the next tenant', async () => {
  const { database } = app.platform;
  const kept: Transaction[] = [];
  await database.tenant('org_A', async (transaction) => void kept.push(transaction));
  await database
    .tenant('org_A', async (transaction) => {
      kept.push(transaction);
      throw new Error('rolled back');
    })
    .catch(() => undefined);
  await database.tenant('org_B', async () => {
    for (const { client, orm } of kept) {
      expect(() => client.query('select 1')).toThrow('has ended');
      await expect(orm.select().from(outboxEvents)).rejects.toThrow();
    }
  });
});

test('however much one organization does at once, another gets a connection', async () => {
  const { database } = app.platform;
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  let begun = 0;
  const busy = Array.from({ length: 30 }, () =>
    database.tenant('org_A', async () => {
      begun += 1;
      await ended;
    }),
  );
  // Half of the eight connections of a test service.
  await expect.poll(() => begun).toBe(4);
  expect(await database.tenant('org_B', async ({ client }) => (await client.query('select 1')).rowCount)).toBe(1);
  end();
  await Promise.all(busy);
  expect(begun).toBe(30);
});

test('a nested transaction is refused, because each could wait for the other', async () => {
  const { database } = app.platform;
  const nested = database.system(() => database.system(async () => 1));
  await expect(nested).rejects.toThrow('inside another');
});

test('a transaction of one statement is two writes to the database: its begin is sent with the statement', async () => {
  const database = connectDatabase({ url: app.databaseUrl, poolSize: 1, log: app.platform.log });
  await database.system(({ client }) => client.query('select 1'));
  const written: { socket: Socket; text: string }[] = [];
  const note = (socket: Socket, chunks: Buffer[]) => written.push({ socket, text: Buffer.concat(chunks).toString() });
  const { _write, _writev } = Socket.prototype;
  const single = vi.spyOn(Socket.prototype, '_write').mockImplementation(function (this: Socket, chunk, ...rest) {
    note(this, [Buffer.from(chunk)]);
    return _write.call(this, chunk, ...rest);
  });
  const several = vi.spyOn(Socket.prototype, '_writev').mockImplementation(function (this: Socket, chunks, done) {
    note(
      this,
      chunks.map(({ chunk }) => Buffer.from(chunk)),
    );
    return _writev?.call(this, chunks, done);
  });
  await database.system(({ client }) => client.query('select 4711'));
  single.mockRestore();
  several.mockRestore();
  await database.close();
  const own = written.find(({ text }) => text.includes('4711'))?.socket;
  const texts = written.filter(({ socket }) => socket === own).map(({ text }) => text);
  expect(texts).toEqual([expect.stringMatching(/begin;.*4711/s), expect.stringContaining('commit')]);
});

test('no statement, no wait for a lock and no idle transaction lasts for ever', async () => {
  const { database } = app.platform;
  const question = `select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock,
    current_setting('idle_in_transaction_session_timeout') as idle`;
  const limits = { statement: '1min', lock: '20s', idle: '2min' };
  expect(await database.call(functionCall(question), [])).toEqual([limits]);
  expect((await database.system(({ client }) => client.query(question))).rows).toEqual([limits]);
  const asQueue = await connected({ connectionString: app.databaseUrl, options: queueSessionOptions });
  expect((await asQueue.query(question)).rows).toEqual([limits]);
  await asQueue.end();
});

test('a task runs in one process at a time, and is aborted when the connection of its lock is lost', async () => {
  const { databaseUrl } = app;
  const { log } = app.platform;
  const [one, other] = [1, 2].map(
    (number) => new TaskLocks({ connectionString: databaseUrl, application_name: `locks ${number}` }, log),
  ) as [TaskLocks, TaskLocks];
  const inside = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<void>();
  const running = one.runAlone('the task', never, async (signal) => {
    signal.addEventListener('abort', () => aborted.resolve());
    inside.resolve();
    await aborted.promise;
  });
  await inside.promise;
  expect(await other.runAlone('the task', never, async () => undefined)).toBe(false);
  expect(await one.runAlone('the task', never, async () => undefined)).toBe(false);
  await other.runAlone('end it', never, async () => {
    await endConnections(databaseUrl, 'locks 1');
  });
  await running;
  await expect.poll(() => other.runAlone('the task', never, async () => undefined)).toBe(true);
  await Promise.all([one.close(), other.close()]);
});

async function endConnections(url: string, applicationName: string): Promise<void> {
  const client = await connected({ connectionString: url });
  await client.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = $1',
    [applicationName],
  );
  await client.end();
}

async function connected(config: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client(config);
  await client.connect();
  return client;
}
