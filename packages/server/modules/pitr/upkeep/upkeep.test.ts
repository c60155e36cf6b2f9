// @module-tag long
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { BackupBench } from '../../../testing/backup-bench.ts';
import { startPitrBench, wholeDiff } from '../../../testing/pitr-bench.ts';
import { untilEnded } from '../../../testing/protected-project.ts';

/** What keeps a log true and small: comparisons, repairs, new bases, compaction, removal of what is old. */
let bench: BackupBench;
let owner: pg.Client;
beforeAll(async () => {
  ({ bench, owner } = await startPitrBench());
  for (let n = 0; n < 5; n++) await doc(`users/${n}`).set({ n });
  await doc('users/0/orders/0').set({ n: 0 });
  await ask('POST', '/enable', { retentionDays: 3 });
  await vi.waitUntil(async () => (await shown()).status === 'running', { timeout: 60_000, interval: 100 });
});
afterAll(async () => {
  await owner.end();
  await bench.close();
});

const doc = (path: string) => bench.firestore.doc(path);
const pitrPath = (rest = '') => `/api/v1/projects/${bench.shop.projectId}/pitr${rest}`;
const ask = (method: string, rest: string, body?: object) =>
  bench.app.request(method, pitrPath(rest), { ...bench.as, ...(body ? { body } : {}) });
const shown = async () => (await ask('GET', '')).body.data;

/** An instant that is covered, by the clock of the database, which is this machine's. */
async function captured(): Promise<string> {
  await sleep(20);
  const at = new Date().toISOString();
  await expect.poll(async () => Date.parse((await shown()).coveredTo ?? 0)).toBeGreaterThan(Date.parse(at) + 20);
  return at;
}

async function usersAt(at: string): Promise<Record<string, unknown>> {
  const answer = await ask('GET', `/view/documents?at=${at}&collection=users&limit=100`);
  expect(answer.status, answer.text).toBe(200);
  return Object.fromEntries(
    answer.body.data.map((one: { path: string; fields: { n: object } }) => [one.path, Object.values(one.fields.n)[0]]),
  );
}

async function liveUsers(): Promise<Record<string, unknown>> {
  const { docs } = await bench.firestore.collection('users').get();
  return Object.fromEntries(docs.map((one) => [`users/${one.id}`, String(one.data().n)]));
}

/** Captures what happens, and takes it out of the catalogue, as if it had never been heard. */
async function lose(change: () => Promise<unknown>): Promise<void> {
  const { rows } = await owner.query('select coalesce(max(sequence), -1) as last from pitr_segments');
  await change();
  await captured();
  const { rowCount } = await owner.query('delete from pitr_segments where sequence > $1', [rows[0].last]);
  expect(rowCount).toBeGreaterThan(0);
}

/** Twice, because the first one that ends may have begun before. */
async function compare(): Promise<void> {
  for (let round = 0; round < 2; round++) {
    const before = (await shown()).lastReconciledAt;
    await owner.query("update pitr_logs set reconcile_due_at = now() - interval '1 second'");
    await bench.app.tasks.runNow('pitr upkeep');
    await expect.poll(async () => (await shown()).lastReconciledAt).not.toBe(before);
  }
}

/** As after a backup that shrank, until an admin has had a look. */
async function whileFrozen(work: () => Promise<unknown>): Promise<void> {
  const frozen = { since: new Date().toISOString(), backupId: 'bkp_1', reason: 'Many documents are gone.' };
  await owner.query('update projects set retention_frozen = $1', [frozen]);
  await work();
  const path = `/api/v1/projects/${bench.shop.projectId}/retention/unfreeze`;
  expect((await bench.app.request('POST', path, bench.as)).status).toBe(200);
}

/** Deleted in such a way that it can be recovered, which it is then. */
async function whileDeleted(work: () => Promise<unknown>): Promise<void> {
  const { id, name: confirmName } = await bench.get('/organizations/current');
  const post = (path: string, body?: object) =>
    bench.app.request('POST', `/api/v1/organizations/${path}`, { ...bench.as, ...(body ? { body } : {}) });
  expect((await post('current/delete', { confirmName })).status).toBe(200);
  await work();
  expect((await post(`${id}/recover`)).status).toBe(200);
}

async function differences(backupId: string, against: string): Promise<number[]> {
  const { added, removed, changed } = await wholeDiff(bench, `/api/v1/backups/${backupId}/diff?against=${against}`);
  return [added, removed, changed].map(({ length }) => length);
}

test('an increment of captured changes reads nothing, and is what a scan gives', async () => {
  await doc('users/0').set({ n: 'changed' });
  await doc('users/0/orders/1').set({ n: 1 });
  await doc('users/4').delete();
  await doc('users/gone').set({ n: 1 });
  await doc('users/gone').delete();
  const increment = await bench.run({ type: 'incremental' });
  expect(increment.error).toBeNull();
  expect(increment).toMatchObject({ status: 'completed', type: 'incremental', readsUsed: 0, documentCount: 6 });
  const full = await bench.run({ type: 'full' });
  expect(full.readsUsed).toBeGreaterThan(0);
  expect(await differences(increment.id, full.id)).toEqual([0, 0, 0]);
  await doc('users/4').set({ n: 'again' });
  const second = await bench.run({ type: 'incremental' });
  expect(second).toMatchObject({ parentId: full.id, readsUsed: 0, documentCount: 7 });
  expect(await differences(second.id, full.id)).toEqual([0, 1, 0]);
  const merged = await bench.run({ type: 'synthetic' });
  expect(merged).toMatchObject({ type: 'synthetic', readsUsed: 0, documentCount: 7 });
  expect(await differences(merged.id, 'live')).toEqual([0, 0, 0]);
  const schedule = { projectId: bench.shop.projectId, name: 'Rhythm', cron: '0 2 * * *', enabled: false };
  const types = async (settings: object) => {
    const created = await bench.app.request('POST', '/api/v1/schedules', {
      ...bench.as,
      body: { ...schedule, ...settings },
    });
    const runs = [];
    for (let round = 0; round < 3; round++) {
      const started = await bench.app.request('POST', `/api/v1/schedules/${created.body.data.id}/run`, bench.as);
      const { type, readsUsed, error, id } = await untilEnded(
        bench.app,
        `/api/v1/backups/${started.body.data.id}`,
        bench.as,
      );
      expect([error, await differences(id, 'live')]).toEqual([null, [0, 0, 0]]);
      runs.push([type, readsUsed > 0]);
    }
    return runs;
  };
  // The full ones of a rhythm are merged; who wants full ones has them read.
  expect(await types({ type: 'incremental', fullEvery: 2 })).toEqual([
    ['synthetic', false],
    ['incremental', false],
    ['synthetic', false],
  ]);
  expect(await types({ type: 'full' })).toEqual(Array(3).fill(['full', true]));
  // What is not captured is read.
  expect((await bench.run({ type: 'incremental', collections: ['users'] })).readsUsed).toBeGreaterThan(0);
});

test('a full run made of captured changes that shrank suddenly freezes retention, as one that was read', async () => {
  const many = Array.from({ length: 20 }, (_, n) => doc(`users/many${n}`));
  for (const one of many) await one.set({ n: 1 });
  await captured();
  const body = { projectId: bench.shop.projectId, name: 'Every run', cron: '0 3 * * *', enabled: false };
  const created = await bench.app.request('POST', '/api/v1/schedules', {
    ...bench.as,
    body: { ...body, type: 'incremental', fullEvery: 1 },
  });
  const run = async () => {
    const started = await bench.app.request('POST', `/api/v1/schedules/${created.body.data.id}/run`, bench.as);
    return untilEnded(bench.app, `/api/v1/backups/${started.body.data.id}`, bench.as);
  };
  const before = await run();
  for (const one of many) await one.delete();
  await captured();
  const after = await run();
  expect([before.type, after.type, before.anomaly]).toEqual(['synthetic', 'synthetic', null]);
  expect(after.anomaly).toMatchObject({
    reason: 'documents_shrank',
    before: { backupId: before.id, documentCount: before.documentCount },
    after: { documentCount: before.documentCount - many.length },
  });
  const { retentionFrozen } = await bench.get(`/projects/${bench.shop.projectId}`);
  expect(retentionFrozen).toMatchObject({ backupId: after.id });
  const release = `/api/v1/projects/${bench.shop.projectId}/retention/unfreeze`;
  expect((await bench.app.request('POST', release, bench.as)).status).toBe(200);
});

describe('a comparison with the database', () => {
  test('that finds both equal proves the log, reads what it says, and makes no gap', async () => {
    const { readsUsed } = await shown();
    await compare();
    const after = await shown();
    expect(after.gaps).toEqual([]);
    expect(after.readsUsed - readsUsed).toBeGreaterThanOrEqual(5);
  });

  test('finds a put, a change and a delete that were lost, repairs them, and refuses the time in between', async () => {
    const before = await captured();
    await lose(async () => {
      await doc('users/lost').set({ n: 'new' });
      await doc('users/1').set({ n: 'changed' });
      await doc('users/2').delete();
    });
    const wrong = await captured();
    expect(await usersAt(wrong)).not.toEqual(await liveUsers());
    await compare();
    const after = await captured();
    expect(await usersAt(after)).toEqual(await liveUsers());
    const { gaps } = await shown();
    expect(gaps).toHaveLength(1);
    expect(gaps[0].reason).toContain('3 documents that the log had otherwise');
    for (const at of [before, wrong]) {
      const refused = await ask('GET', `/view/documents?at=${at}`);
      expect([refused.status, refused.body.error?.code]).toEqual([409, 'POINT_IN_TIME_UNAVAILABLE']);
      const { details } = refused.body.error;
      expect(details.before <= at && at <= details.after).toBe(true);
    }
    // Across a gap the log is not trusted with an increment: the database is read.
    expect((await bench.run({ type: 'incremental' })).readsUsed).toBeGreaterThan(0);
    const audit = await bench.get('/audit-logs?limit=100');
    const noted = audit.find(({ action }: { action: string }) => action === 'pitr.difference_repaired');
    expect(noted.details).toMatchObject({ differences: 3, isTooMuch: false });
  });

  test('repairs what a base made of the log lacks too, and what comes later wins over the repair', async () => {
    await lose(() => doc('users/old').set({ n: 1 }));
    await bench.backUp({ type: 'synthetic' });
    await compare();
    const repaired = await captured();
    expect(await usersAt(repaired)).toEqual(await liveUsers());
    await doc('users/old').set({ n: 2 });
    const later = await captured();
    expect((await usersAt(later))['users/old']).toBe('2');
    expect((await usersAt(repaired))['users/old']).toBe('1');
    // Whoever restores that base by its own id is told what is known of it by now.
    const doubtful = (await bench.get('/backups?limit=100')).find(({ type }: { type: string }) => type === 'synthetic');
    expect((await bench.get(`/backups/${doubtful.id}`)).warnings[0].message).toContain('some were missing');
  });
});

test('a log without a base gets one; instants behind it can be reached again', async () => {
  await owner.query('update pitr_segments set gap = gap || \'{"deletionsUnknown": true}\' where gap is not null');
  await owner.query("update backups set deleted_at = now() where type <> 'synthetic'");
  await owner.query('update backups set deleted_at = now() where true');
  expect((await shown()).status).not.toBe('running');
  await bench.app.tasks.runNow('pitr bases');
  await bench.app.tasks.runNow('pitr bases');
  await expect.poll(async () => (await shown()).status).toBe('running');
  const asked = await owner.query("select id from backups where trigger = 'pitr' and deleted_at is null");
  expect(asked.rowCount).toBe(1);
  expect(await usersAt(await captured())).toEqual(await liveUsers());
});

test('expired time is removed once a base of the log covers its end, and nothing reachable is removed with it', async () => {
  await doc('users/3').set({ n: 'before' });
  const kept = await captured();
  // Without a base of its own that covers its end, a log is due for one however small it is.
  await owner.query("update backups set trigger = 'manual' where trigger = 'pitr'");
  await owner.query("update pitr_logs set compact_due_at = now() - interval '1 second'");
  await bench.app.tasks.runNow('pitr upkeep');
  const made = async () =>
    (
      await owner.query(
        "select count(*)::int as n from backups where trigger = 'pitr' and type = 'synthetic' and status = 'completed' and deleted_at is null",
      )
    ).rows[0].n;
  await expect.poll(made).toBe(1);
  const { readsUsed } = (
    await owner.query("select reads_used as \"readsUsed\" from backups where trigger = 'pitr' and type = 'synthetic'")
  ).rows[0];
  expect(Number(readsUsed)).toBe(0);
  await doc('users/3').set({ n: 'after' });
  const after = await captured();
  expect((await usersAt(kept))['users/3']).toBe('before');
  const segments = async () => (await owner.query('select count(*)::int as n from pitr_segments')).rows[0].n;
  const all = await segments();
  // Nothing is old yet.
  await bench.app.tasks.runNow('pitr retention');
  expect(await segments()).toBe(all);
  // Nor by a clock of the service that runs ahead of the database's.
  await bench.inDays(4, () => bench.app.tasks.runNow('pitr retention'));
  expect(await segments()).toBe(all);
  await owner.query('update pitr_logs set retention_days = 0');
  await whileFrozen(() => bench.app.tasks.runNow('pitr retention'));
  expect(await segments()).toBe(all);
  expect((await usersAt(kept))['users/3']).toBe('before');
  await bench.app.tasks.runNow('pitr retention');
  await owner.query('update pitr_logs set retention_days = 3');
  expect(await segments()).toBeLessThan(all);
  expect((await usersAt(after))['users/3']).toBe('after');
  const gone = await ask('GET', `/view/documents?at=${kept}`);
  expect([gone.status, gone.body.error.details.before]).toEqual([409, null]);
});

test('whole minutes of a gap are read from the source where it has point-in-time recovery of its own', async () => {
  const name = { project: 'shop', database: '(default)' };
  bench.sandbox.control.setPointInTimeRecovery(name, true);
  bench.sandbox.control.moveClock(name, 180_000);
  bench.app.clock.advance(240_000);
  await owner.query('update pitr_logs set holder = null');
  const keeps = async () => (await owner.query('select source_keeps_from as "from" from pitr_logs')).rows[0].from;
  await expect.poll(keeps).not.toBeNull();
  await doc('users/minute').set({ n: 1 });
  const covered = async () => Date.parse((await shown()).coveredTo);
  await expect.poll(covered).toBeGreaterThan(Date.now() + 170_000);
  const minute = new Date(Math.floor((Date.now() + 120_000) / 60_000) * 60_000);
  const around = (ms: number) => `${new Date(minute.getTime() + ms).toISOString().slice(0, -1)}000000Z`;
  const gap = { from: around(-1000), through: around(1000), reason: 'Capture was interrupted.' };
  await owner.query('update pitr_segments set gap = $1 where sequence = (select max(sequence) from pitr_segments)', [
    gap,
  ]);
  const at = minute.toISOString();
  expect(await usersAt(at)).toEqual(
    Object.fromEntries(Object.entries(await liveUsers()).filter(([path]) => path !== 'users/minute')),
  );
  const refused = await ask('GET', `/view/documents?at=${new Date(minute.getTime() + 500).toISOString()}`);
  expect(refused.status).toBe(409);
  expect(refused.body.error.details).toEqual({ before: around(0), after: around(1000) });
  expect((await shown()).gaps.at(-1).reason).toContain('keeps whole minutes');
});

test('a log that is switched off is kept for its days, and longer while retention is frozen or the organization is deleted', async () => {
  await ask('POST', '/disable', {});
  const logs = async () => (await owner.query('select count(*)::int as n from pitr_logs')).rows[0].n;
  const retentionIn = (days: number) => bench.inDays(days, () => bench.app.tasks.runNow('pitr retention'));
  await retentionIn(2);
  expect(await logs()).toBe(1);
  await whileFrozen(() => retentionIn(5));
  expect(await logs()).toBe(1);
  await whileDeleted(() => retentionIn(5));
  expect(await logs()).toBe(1);
  await retentionIn(5);
  expect(await logs()).toBe(0);
});
