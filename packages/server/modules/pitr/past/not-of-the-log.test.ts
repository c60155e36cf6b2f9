// @module-tag long
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type CapturedBench, startCapturedBench, usersAt } from '../../../testing/pitr-bench.ts';
import { untilEnded } from '../../../testing/protected-project.ts';

/** Backups that were read at no mark of the log: what they saw for a moment was never heard, so nothing leads on from them. */
let house: CapturedBench;
/** What a listener waits for after each document that it is told of. */
const hold = { method: 'Listen', batchLatencyMs: 0, until: Promise.resolve() };

beforeAll(async () => {
  house = await startCapturedBench();
  house.bench.sandbox.control.addFault(hold);
  // Streams that are open know nothing of it.
  await house.capturedWith('bea');
  await house.ask('POST', '/enable', {});
});
afterAll(() => house.close());

const running = () => vi.waitUntil(async () => (await house.shown()).status === 'running', { timeout: 60_000 });
const doc = (path: string) => house.bench.firestore.doc(path);

/** While the listener is told of one document, another comes and goes. */
async function unheard(id: string, work: () => Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  hold.until = promise;
  try {
    await doc('users/busy').set({ id });
    await doc(`users/${id}`).set({ n: 1 });
    await work();
    await doc(`users/${id}`).delete();
  } finally {
    hold.until = Promise.resolve();
    resolve();
  }
}

/** A mark behind all that was written. */
async function captured(): Promise<string> {
  const written = (await doc('users/last').set({ n: Math.random() })).writeTime.toDate().getTime();
  const covered = async () => (await house.shown()).coveredTo ?? '';
  await vi.waitUntil(async () => Date.parse(await covered()) > written + 1, { timeout: 60_000, interval: 100 });
  return covered();
}

test('a safety backup is no base of the log: a document that existed only around it does not stay', async () => {
  await running();
  const backupId = await house.bench.backUp();
  await unheard('overwritten', async () => {
    const request = {
      ...house.bench.as,
      body: { backupId, options: { deleteExtra: true } },
    };
    const started = await house.bench.app.request('POST', '/api/v1/backups/restore', request);
    expect(started.status, started.text).toBe(202);
    const restore = await untilEnded(
      house.bench.app,
      `/api/v1/backups/restore/${started.body.data.id}`,
      house.bench.as,
    );
    expect(restore, JSON.stringify(restore)).toMatchObject({ status: 'completed' });
  });
  const at = await captured();
  expect(await usersAt(house.bench, at)).not.toContain('users/overwritten');
});

test('on a new server backups of another project of the database are no bases of the log', async () => {
  await running();
  const { app, as, shop, sandbox } = house.bench;
  const connection = { type: 'emulator', host: sandbox.address };
  const body = { name: 'Theirs', sourceProjectId: 'shop', connection };
  const made = await app.request('POST', '/api/v1/projects', { ...as, body });
  expect(made.status, made.text).toBe(201);
  const theirs = made.body.data.id;
  let backupId = '';
  await unheard('foreign', async () => {
    backupId = await house.bench.backUp({ projectId: theirs });
  });
  const at = await captured();
  // Quiet time is written down with the change that ends it.
  await captured();
  expect(await usersAt(house.bench, at)).not.toContain('users/foreign');
  await house.ask('POST', '/disable', {});
  await vi.waitUntil(async () => (await house.owner.query('select holder from pitr_logs')).rows[0].holder === null);
  await house.owner.query('delete from pitr_segments; delete from pitr_logs; delete from backups');
  await house.owner.query('delete from projects where id = $1', [theirs]);
  const task = await house.rescan();
  expect(task.result, JSON.stringify(task)).toMatchObject({ failures: [] });
  const found = await house.bench.get(`/backups?projectId=${shop.projectId}&limit=100`);
  expect(found.map(({ id }: { id: string }) => id)).toContain(backupId);
  expect(await usersAt(house.bench, at)).toContain('users/last');
  expect(await usersAt(house.bench, at)).not.toContain('users/foreign');
});
