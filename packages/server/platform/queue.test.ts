import { Writable } from 'node:stream';
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { createTestDatabase } from '../testing/test-database.ts';
import { connectDatabase, type Database } from './database/database.ts';
import { prepareDatabase } from './database/migrate.ts';
import { createLogger } from './log.ts';
import { defineJob, Postponed, prepareQueue, Queue } from './queue.ts';

const log = createLogger('silent');

/** The log lines of a queue, as objects. */
function listen() {
  const lines: { msg: string; job: string; attempt: number; before?: string; backupId?: string; secret?: string }[] =
    [];
  const sink = new Writable({
    write: (chunk, _encoding, done) => {
      const line = JSON.parse(String(chunk));
      if (line.job !== undefined) lines.push(line);
      done();
    },
  });
  return { log: createLogger('info', sink), lines };
}
const countJob = defineJob({
  name: 'count',
  schema: z.object({ n: z.int() }),
  retryLimit: 3,
  retryDelaySeconds: 0,
  timeoutSeconds: 60,
});
const onceJob = defineJob({
  name: 'once',
  schema: z.object({ n: z.int() }),
  retryLimit: 3,
  retryDelaySeconds: 0,
  timeoutSeconds: 60,
  exclusive: true,
});
const namedJob = defineJob({
  ...countJob,
  name: 'named',
  schema: z.object({ backupId: z.string(), secret: z.string() }),
});
const sharedJob = defineJob({
  ...countJob,
  name: 'shared',
  schema: z.object({ organizationId: z.string() }),
  perOrganizationMax: 2,
});
const placedJob = defineJob({ ...countJob, name: 'placed', schema: z.object({ organizationId: z.string() }) });
const asideJob = defineJob({ ...sharedJob, name: 'aside', retryDelaySeconds: 10 });
const jobs = [countJob, onceJob, namedJob, sharedJob, placedJob, asideJob];

let drop: () => Promise<void>;
let database: Database;
let url: string;
let ownerUrl: string;

beforeAll(async () => {
  const created = await createTestDatabase();
  drop = created.drop;
  ownerUrl = created.url;
  url = await prepareDatabase({
    ownerUrl: created.url,
    log,
    functions: [],
    afterTables: (owner) => prepareQueue(owner, jobs),
  });
  database = connectDatabase({ url, poolSize: 4, log });
});
afterAll(async () => {
  await database.close();
  await drop();
});

async function until(condition: () => boolean, timeoutMs = 10_000): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error('waited in vain');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test('a job is enqueued with its transaction, and not without', async () => {
  const queue = new Queue({ url, jobs, log }, false);
  await queue.start();
  const seen: number[] = [];
  await queue.work(countJob, 1, async ({ data }) => void seen.push(data.n));
  const failed = database.system(async (transaction) => {
    await queue.enqueue(transaction, countJob, { n: 1 });
    throw new Error('changed my mind');
  });
  await expect(failed).rejects.toThrow('changed my mind');
  await database.system((transaction) => queue.enqueue(transaction, countJob, { n: 2 }));
  await until(() => seen.length > 0);
  expect(seen).toEqual([2]);
  await queue.close(1000);
});

test('idle places ask the database together with one query, and a job that becomes due is taken all the same', {
  tags: 'long',
}, async () => {
  const asked = vi.spyOn(pg.Client.prototype, 'query');
  const queue = new Queue({ url, jobs, log }, false);
  await queue.start();
  let done = 0;
  await queue.work(onceJob, 8, async () => undefined);
  await queue.work(countJob, 8, async () => void done++);
  const startAfter = new Date(Date.now() + 7000);
  await database.system((transaction) => queue.enqueue(transaction, countJob, { n: 1 }, { startAfter }));
  await until(() => done === 1, 20_000);
  await queue.close(1000);
  const texts = asked.mock.calls.map(([query]) => JSON.stringify(query));
  asked.mockRestore();
  expect(texts.filter((text) => text?.includes("WHERE j.name = 'once'"))).toHaveLength(1);
});

test('many waiting jobs run one after the other without waiting for a polling interval', async () => {
  const queue = new Queue({ url, jobs, log }, false);
  await queue.start();
  let done = 0;
  const startedMs = performance.now();
  await database.system(async (transaction) => {
    for (let n = 0; n < 40; n++) await queue.enqueue(transaction, countJob, { n });
  });
  await queue.work(countJob, 2, async () => void done++);
  await until(() => done === 40);
  expect(performance.now() - startedMs).toBeLessThan(20_000);
  await queue.close(1000);
});

test('many endless jobs of one organization leave a place to the single job of another', async () => {
  const queue = new Queue({ url, jobs, log }, false);
  await queue.start();
  const begun: string[] = [];
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const add = (organizationId: string) =>
    database.system((transaction) => queue.enqueue(transaction, sharedJob, { organizationId }));
  await queue.work(sharedJob, 3, async ({ data }) => {
    begun.push(data.organizationId);
    if (data.organizationId === 'many') await ended;
  });
  for (const count of [1, 2]) {
    await add('many');
    await until(() => begun.length === count);
  }
  for (let n = 0; n < 60; n++) await add('many');
  await add('single');
  await until(() => begun.length === 3);
  expect(begun).toEqual(['many', 'many', 'single']);
  end();
  await until(() => begun.length > 50);
  await queue.close(1000);
});

test('organizations whose work was postponed let others go first with all their waiting jobs', async () => {
  const queue = new Queue({ url, jobs, log }, false);
  await queue.start();
  const begun: string[] = [];
  await database.system(async (transaction) => {
    const waiting = [...Array(30).fill('one'), ...Array(30).fill('two'), 'third'];
    for (const organizationId of waiting) await queue.enqueue(transaction, asideJob, { organizationId });
  });
  await queue.work(asideJob, 4, async ({ data }) => {
    begun.push(data.organizationId);
    if (data.organizationId !== 'third') throw new Postponed('nothing answers');
  });
  await until(() => begun.includes('third'));
  // Two of each, and those that were claimed before the first one was postponed.
  expect(begun.indexOf('third')).toBeLessThanOrEqual(8);
  await queue.close(1000);
});

test('an organization with hanging jobs takes all places but one, which is left to the others', async () => {
  const queue = new Queue({ url, jobs, log }, false);
  await queue.start();
  const begun: string[] = [];
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  await database.system(async (transaction) => {
    for (let n = 0; n < 20; n++) await queue.enqueue(transaction, placedJob, { organizationId: 'hanging' });
  });
  await queue.work(placedJob, 2, async ({ data }) => {
    begun.push(data.organizationId);
    if (data.organizationId === 'hanging') await ended;
  });
  await until(() => begun.length === 2);
  for (let n = 0; n < 3; n++) {
    await database.system((transaction) => queue.enqueue(transaction, placedJob, { organizationId: `other ${n}` }));
    await until(() => begun.length === 3 + n);
  }
  expect(begun).toEqual(['hanging', 'hanging', 'other 0', 'other 1', 'other 2']);
  end();
  await until(() => begun.length === 23);
  await queue.close(1000);
});

test('an exclusive job with the same key waits or runs once', async () => {
  const queue = new Queue({ url, jobs, log }, false);
  await queue.start();
  const ids = await Promise.all(
    Array.from({ length: 8 }, (_, n) =>
      database.system((transaction) => queue.enqueue(transaction, onceJob, { n }, { key: 'same' })),
    ),
  );
  expect(ids.filter((id) => id !== null)).toHaveLength(1);
  await queue.close(1000);
});

test('a running job is aborted when the service stops and handed back, and the log names its next worker', async () => {
  const [here, there] = [listen(), listen()];
  const first = new Queue({ url, jobs, log: here.log }, false);
  await first.start();
  let running = false;
  await first.work(namedJob, 1, async ({ signal }) => {
    running = true;
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('handed back'))));
  });
  const data = { backupId: 'bkp_1', secret: 'hush' };
  await database.system((transaction) => first.enqueue(transaction, namedJob, data));
  await until(() => running);
  await first.close(2000);
  expect(here.lines.map(({ msg }) => msg)).toEqual(['a job begins', 'a job was handed back']);
  const second = new Queue({ url, jobs, log: there.log }, false);
  await second.start();
  await second.work(namedJob, 1, async () => undefined);
  await until(() => there.lines.length === 2);
  await second.close(1000);
  expect(there.lines).toMatchObject([
    {
      msg: 'a job is taken over',
      job: 'named',
      attempt: 2,
      before: 'The process that ran it was stopped.',
      backupId: 'bkp_1',
    },
    { msg: 'a job ended', job: 'named', attempt: 2, durationMs: expect.any(Number) },
  ]);
  expect(JSON.stringify([here.lines, there.lines])).not.toContain('hush');
});

test('a job that does not stop in time is handed back too, and a failing one is retried until it is given up', async () => {
  const stubborn = listen();
  const first = new Queue({ url, jobs, log: stubborn.log }, false);
  await first.start();
  await first.work(countJob, 1, () => new Promise(() => undefined));
  await database.system((transaction) => first.enqueue(transaction, countJob, { n: 1 }));
  await until(() => stubborn.lines.length === 1);
  await first.close(1000);
  expect(stubborn.lines.map(({ msg }) => msg)).toEqual(['a job begins', 'a job was handed back']);

  const failing = listen();
  const second = new Queue({ url, jobs, log: failing.log }, false);
  await second.start();
  await second.work(countJob, 1, async () => {
    throw new Error('no');
  });
  await until(() => failing.lines.length === 6);
  await second.close(1000);
  expect(failing.lines.map(({ msg, attempt }) => `${msg} ${attempt}`)).toEqual([
    'a job is taken over 2',
    'a job will be tried again 2',
    'a job is taken over 3',
    'a job will be tried again 3',
    'a job is taken over 4',
    'a job was given up 4',
  ]);
  expect(failing.lines[0]?.before).toMatch(/shut down/);
});

test('a job of a dead worker waits only a few seconds, however often its workers died', async () => {
  const queue = new Queue({ url, jobs, log }, false);
  await queue.start();
  const id = await database.system((transaction) => queue.enqueue(transaction, countJob, { n: 7 }));
  const owner = new pg.Client(ownerUrl);
  await owner.connect();
  const waitsAfter = async (message: string) => {
    await owner.query(
      `update pgboss.job set state = 'retry', start_after = now() + interval '300 seconds', output = $2 where id = $1`,
      [id, { value: { message } }],
    );
    await queue.retryLostSoon();
    const { rows } = await owner.query(
      'select extract(epoch from start_after - now())::float8 as seconds from pgboss.job where id = $1',
      [id],
    );
    return rows[0].seconds;
  };
  expect(await waitsAfter('The storage destination does not answer.')).toBeGreaterThan(250);
  expect(await waitsAfter('job heartbeat timeout')).toBeLessThanOrEqual(10);
  await owner.query('delete from pgboss.job where id = $1', [id]);
  await owner.end();
  await queue.close(0);
});
