import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { scopes } from '@holdfast/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { asOwner } from '../../../testing/people.ts';
import { untilEnded } from '../../../testing/protected-project.ts';
import { addMember } from '../../../testing/team.ts';

let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench(hasty);
  // A key outlasts the weeks that pass here, unlike a session.
  const body = { name: 'robot', permissions: scopes };
  const key = await bench.app.request('POST', '/api/v1/organizations/current/service-account', { ...bench.as, body });
  bench.as.token = key.body.data.apiKey;
});
afterAll(() => bench.close());

const dayMs = 86_400_000;
const patience = { timeout: 60_000, interval: 100 };
const call = (method: string, path: string, body?: object) =>
  bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body ? { body } : {}) });
async function create(body: object) {
  const request = { projectId: bench.shop.projectId, name: 'Nightly', cron: '0 2 * * *', enabled: false, ...body };
  const created = await call('POST', '/schedules', request);
  expect(created.status, created.text).toBe(201);
  return created.body.data.id as string;
}
/** A run by hand, completed. */
async function run(scheduleId: string) {
  const started = await call('POST', `/schedules/${scheduleId}/run`);
  const backup = await untilEnded(bench.app, `/api/v1/backups/${started.body.data.id}`, bench.as);
  expect(backup.status, JSON.stringify(backup.error)).toBe('completed');
  return backup;
}
const idsOf = async (scheduleId: string) =>
  (await bench.get(`/backups?scheduleId=${scheduleId}&status=completed`)).map(({ id }: { id: string }) => id);
/** Retention looks around every few seconds; here it is told to. */
const lookAround = () => bench.app.tasks.runNow('retention');
const idsAfterwards = async (scheduleId: string) => {
  await lookAround();
  return idsOf(scheduleId);
};
const preview = (scheduleId: string) => bench.get(`/schedules/${scheduleId}/retention-preview`);
const folders = async () => {
  const root = join(bench.app.folder, 'storage', bench.shop.organizationId);
  const found = await readdir(root, { recursive: true, withFileTypes: true });
  const files = found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return new Set(files.flatMap((name) => /(bkp_[0-9A-Z]+)/.exec(name)?.[1] ?? []));
};
async function clearAway(scheduleId: string) {
  await call('DELETE', `/schedules/${scheduleId}?deleteBackups=true`);
}

test('what is due goes after a run: its record, its objects, its share of the statistics, with an audit row', async () => {
  await bench.firestore.doc('users/ada').set({ n: 1 });
  const schedule = await create({ retentionPolicy: { last: 2 } });
  const made: string[] = [];
  for (let round = 0; round < 3; round++) made.push((await run(schedule)).id);
  await expect.poll(() => idsAfterwards(schedule), patience).toEqual([made[2], made[1]]);
  await expect.poll(async () => (await folders()).has(made[0]!), patience).toBe(false);
  expect(await folders()).toEqual(new Set([made[1], made[2]]));
  const { statistics } = await bench.get(`/projects/${bench.shop.projectId}`);
  expect(statistics.backupCount).toBe(2);
  const expired = await bench.get('/audit-logs?action=backup.expired');
  expect(expired[0]).toMatchObject({ resource: { type: 'backup', id: made[0] }, actor: { type: 'system' } });
  await clearAway(schedule);
});

test('a narrower policy takes effect by itself, and the preview says so before', { tags: 'long' }, async () => {
  const schedule = await create({ retentionPolicy: { last: 3 } });
  const made = [await run(schedule), await run(schedule), await run(schedule)].map(({ id }) => id);
  const before = await preview(schedule);
  expect(before.map(({ backupId }: { backupId: string }) => backupId)).toEqual(made.toReversed());
  expect(before[0].keptBy.map(({ rule }: { rule: string }) => rule)).toEqual(['last', 'newest_good']);
  expect(before[2]).toMatchObject({ keptBy: [{ rule: 'last' }], removedAt: null });
  await call('POST', `/backups/${made[0]}/hold`);
  await call('PATCH', `/schedules/${schedule}`, { retentionPolicy: { last: 1 } });
  await expect.poll(() => idsOf(schedule), patience).toEqual([made[2], made[0]]);
  expect((await preview(schedule))[1].keptBy).toEqual([{ rule: 'legal_hold', detail: null }]);
  await call('DELETE', `/backups/${made[0]}/hold`);
  await expect.poll(() => idsAfterwards(schedule), patience).toEqual([made[2]]);
  await clearAway(schedule);
});

test('days pass: a backup goes when its term is over, the newest never', { tags: 'long' }, async () => {
  const schedule = await create({ retention: 2 });
  const first = await run(schedule);
  bench.app.clock.advance(1.5 * dayMs);
  const second = await run(schedule);
  const [shown] = (await preview(schedule)).toReversed();
  expect(shown.removedAt).toBe(first.expiresAt ?? (await bench.get(`/backups/${first.id}`)).expiresAt);
  bench.app.clock.advance(0.6 * dayMs);
  await expect.poll(() => idsAfterwards(schedule), patience).toEqual([second.id]);
  bench.app.clock.advance(30 * dayMs);
  for (let round = 0; round < 3; round++) await lookAround();
  expect(await idsOf(schedule)).toEqual([second.id]);
  expect((await preview(schedule))[0].keptBy).toMatchObject([{ rule: 'newest_good' }]);
  await clearAway(schedule);
});

describe('a chain', () => {
  test('of which one increment is still kept becomes one full backup that shows the same', async () => {
    const schedule = await create({ type: 'incremental', fullEvery: 3, retentionPolicy: { monthly: 12 } });
    bench.clear();
    for (let round = 0; round < 3; round++) {
      await bench.firestore.doc(`users/u${round}`).set({ round });
      await run(schedule);
      bench.app.clock.advance(60_000);
    }
    const [last, middle, base] = await idsOf(schedule);
    const { parentId, completedAt: lastCompletedAt } = await bench.get(`/backups/${last}`);
    expect(parentId).toBe(middle);
    const shown: { keptBy: { rule: string }[]; removedAt: string | null }[] = await preview(schedule);
    expect(shown.map(({ keptBy }) => keptBy.at(-1)!.rule)).toEqual(['newest_good', 'dependency', 'dependency']);
    // What is kept for others alone has no end that is known.
    expect(shown.slice(1).map(({ removedAt }) => removedAt)).toEqual([null, null]);
    bench.app.clock.advance(40 * dayMs);
    await bench.firestore.doc('users/u9').set({ round: 9 });
    const next = await run(schedule);
    expect(next.type).toBe('full');
    await expect.poll(async () => (await idsAfterwards(schedule)).length, { ...patience, timeout: 120_000 }).toBe(2);
    const [first, second] = await Promise.all((await idsOf(schedule)).map((id: string) => bench.get(`/backups/${id}`)));
    const merged = first.type === 'synthetic' ? first : second;
    expect(merged).toMatchObject({ type: 'synthetic', documentCount: 3, verification: { status: 'passed' } });
    const paths = (await bench.get(`/backups/${merged.id}/documents`)).map(({ path }: { path: string }) => path);
    expect(paths).toEqual(['users/u0', 'users/u1', 'users/u2']);
    for (const id of [last, middle, base])
      await expect.poll(async () => (await folders()).has(id), patience).toBe(false);
    const kept = (await preview(schedule)).find(({ backupId }: { backupId: string }) => backupId === merged.id);
    expect(kept.keptBy.map(({ rule }: { rule: string }) => rule)).toContain('monthly');
    // It is named by the moment it holds, and not by the day on which it was merged.
    expect(kept).toMatchObject({ countsFrom: lastCompletedAt, completedAt: merged.completedAt });
    expect(Date.parse(kept.completedAt) - Date.parse(kept.countsFrom)).toBeGreaterThan(39 * dayMs);
    const told = await asOwner(bench.app.databaseUrl, (client) =>
      client.query(
        `select payload from outbox_events where type = 'backup.completed' and payload->'data'->'backup'->>'id' = $1`,
        [merged.id],
      ),
    );
    // Retention asked for it. Nobody takes it for a run of the schedule, least of all one that ends a trouble.
    expect(told.rows[0].payload.metadata).toMatchObject({ scheduleId: null });
    expect(told.rows[0].payload.simple).toMatchObject({ scheduleId: null });
    await clearAway(schedule);
  });

  test('of which one increment is under hold and nothing else keeps it stays as it is', { tags: 'long' }, async () => {
    const schedule = await create({ type: 'incremental', fullEvery: 2, retentionPolicy: { last: 1 } });
    const base = (await run(schedule)).id;
    await bench.firestore.doc('users/held').set({ n: 1 });
    const held = (await run(schedule)).id;
    await call('POST', `/backups/${held}/hold`);
    const newest = (await run(schedule)).id;
    const all = async () =>
      (await bench.get(`/backups?scheduleId=${schedule}`)).map(({ id }: { id: string }) => id).toSorted();
    for (let round = 0; round < 5; round++) {
      await lookAround();
      await expect.poll(async () => (await all()).length, patience).toBe(3);
    }
    expect(await all()).toEqual([base, held, newest]);
    const merges = await bench.get('/audit-logs?action=backup.created');
    expect(merges.filter(({ details }: { details: object }) => JSON.stringify(details).includes(held))).toEqual([]);
    await call('DELETE', `/backups/${held}/hold`);
    await expect.poll(() => idsAfterwards(schedule), patience).toEqual([newest]);
    await clearAway(schedule);
  });
});

test('a merged backup of a deleted schedule expires when the one it stands for would', { tags: 'long' }, async () => {
  const schedule = await create({ type: 'incremental', fullEvery: 2, retention: 100 });
  const base = (await run(schedule)).id;
  bench.app.clock.advance(50 * dayMs);
  await bench.firestore.doc('users/late').set({ n: 1 });
  const increment = (await run(schedule)).id;
  const { expiresAt, snapshotTime } = await bench.get(`/backups/${increment}`);
  await call('DELETE', `/schedules/${schedule}`);
  const next = await bench.backUp();
  bench.app.clock.advance(60 * dayMs);
  await expect.poll(() => idsAfterwards(schedule), { ...patience, timeout: 120_000 }).not.toContain(base);
  const [merged] = await idsOf(schedule);
  expect(merged).not.toBe(increment);
  expect(await bench.get(`/backups/${merged}`)).toMatchObject({ type: 'synthetic', snapshotTime, expiresAt });
  for (const id of [merged, next]) await call('DELETE', `/backups/${id}`);
});

describe('a backup that shrank suddenly', () => {
  test('freezes retention until an admin has had a look', { tags: 'long' }, async () => {
    bench.clear();
    const schedule = await create({ retentionPolicy: { last: 1 } });
    for (let n = 0; n < 10; n++) await bench.firestore.doc(`users/u${n}`).set({ n });
    const before = await run(schedule);
    bench.clear();
    await bench.firestore.doc('users/u1').set({ n: 1 });
    const after = await run(schedule);
    const shown = await bench.get(`/backups/${after.id}`);
    expect(shown.anomaly).toEqual({
      reason: 'documents_shrank',
      before: { backupId: before.id, documentCount: 10, collection: null },
      after: { backupId: after.id, documentCount: 1, collection: null },
    });
    const project = await bench.get(`/projects/${bench.shop.projectId}`);
    expect(project.retentionFrozen).toMatchObject({ backupId: after.id });
    const events = await asOwner(bench.app.databaseUrl, (client) =>
      client.query(`select payload from outbox_events where type = 'backup.anomaly'`),
    );
    expect(events.rows.at(-1).payload.data).toMatchObject({ reason: 'documents_shrank', backup: { id: after.id } });
    expect((await preview(schedule)).at(-1).keptBy).toMatchObject([{ rule: 'frozen' }]);
    for (let round = 0; round < 3; round++) await lookAround();
    expect(await idsOf(schedule)).toEqual([after.id, before.id]);
    const member = await addMember(bench.app, bench.shop.organizationId, 'member');
    const path = `/projects/${bench.shop.projectId}/retention/unfreeze`;
    const as = { token: member.token, organizationId: bench.shop.organizationId };
    expect((await bench.app.request('POST', `/api/v1${path}`, as)).body.error.code).toBe('PERMISSION_DENIED');
    expect((await call('POST', path)).body.data.retentionFrozen).toBeNull();
    expect((await call('POST', path)).body.error.code).toBe('INVALID_STATE');
    await expect.poll(() => idsAfterwards(schedule), patience).toEqual([after.id]);
    await clearAway(schedule);
  });
});

test('backups of a disconnected project whose retention is frozen go once somebody has had a look', async () => {
  const connection = { type: 'emulator', host: `${bench.sandbox.host}:${bench.sandbox.port}` };
  const made = await call('POST', '/projects', { name: 'Left', sourceProjectId: 'left', connection });
  const projectId: string = made.body.data.id;
  const termed = await bench.backUp({ projectId, retention: 1 });
  const newest = await bench.backUp({ projectId, retention: 1 });
  await asOwner(bench.app.databaseUrl, (client) =>
    client.query('update projects set retention_frozen = $2 where id = $1', [
      projectId,
      JSON.stringify({ since: new Date().toISOString(), backupId: newest, reason: 'It shrank.' }),
    ]),
  );
  expect((await call('DELETE', `/projects/${projectId}`)).status).toBe(200);
  bench.app.clock.advance(2 * dayMs);
  await lookAround();
  expect((await call('GET', `/backups/${termed}`)).status).toBe(200);
  const released = await call('POST', `/projects/${projectId}/retention/unfreeze`);
  expect([released.status, released.body.data?.retentionFrozen], released.text).toEqual([200, null]);
  const gone = async () => {
    await lookAround();
    return (await call('GET', `/backups/${termed}`)).status;
  };
  await expect.poll(gone, patience).toBe(404);
  expect((await call('GET', `/backups/${newest}`)).status).toBe(200);
});

test('a backup taken by hand goes when its own term is over, and stays without one', { tags: 'long' }, async () => {
  await bench.startOver();
  const termed = await bench.backUp({ retention: 1 });
  const kept = await bench.backUp();
  const newest = await bench.backUp();
  bench.app.clock.advance(2 * dayMs);
  const gone = async () => {
    await lookAround();
    return (await call('GET', `/backups/${termed}`)).status;
  };
  await expect.poll(gone, patience).toBe(404);
  expect((await call('GET', `/backups/${kept}`)).status).toBe(200);
  expect((await call('GET', `/backups/${newest}`)).status).toBe(200);
});

/** As a rule of the bucket, a person, or a catalogue of an older day leave it: the record stays, the objects are gone. */
async function loseObjects(backupId: string): Promise<void> {
  const root = join(bench.app.folder, 'storage', bench.shop.organizationId);
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true }))
    if (entry.isDirectory() && entry.name === backupId)
      await rm(join(entry.parentPath, entry.name), { recursive: true });
}

test('a newest backup whose key was withdrawn stays, and nothing goes in its favour', { tags: 'long' }, async () => {
  const path = '/organizations/current/encryption-key';
  expect((await call('PUT', path, { passphrase: 'correct horse battery staple' })).status).toBeLessThan(300);
  const schedule = await create({ retention: 2 });
  const made = [(await run(schedule)).id, (await run(schedule)).id];
  expect((await call('DELETE', path)).status).toBeLessThan(300);
  await call('POST', `/backups/${made[1]}/verify`);
  const verified = async () => (await bench.get(`/backups/${made[1]}`)).verification?.status;
  await expect.poll(verified, patience).toBe('failed');
  bench.app.clock.advance(9 * dayMs);
  expect((await idsAfterwards(schedule)).toSorted()).toEqual(made.toSorted());
  await clearAway(schedule);
});

test('a merge that meets damage has it verified, and is not tried again', { tags: 'long' }, async () => {
  const schedule = await create({ type: 'incremental', fullEvery: 2, retentionPolicy: { monthly: 12 } });
  const [base, increment] = [(await run(schedule)).id, (await run(schedule)).id];
  await loseObjects(base);
  bench.app.clock.advance(40 * dayMs);
  await run(schedule);
  const verified = async () => {
    await lookAround();
    return (await bench.get(`/backups/${increment}`)).verification?.status;
  };
  await expect.poll(verified, patience).toBe('failed');
  await call('POST', `/projects/${bench.shop.projectId}/retention/unfreeze`);
  for (let round = 0; round < 3; round++) await lookAround();
  expect(await bench.get(`/backups?scheduleId=${schedule}&type=synthetic`)).toMatchObject([
    { status: 'failed', error: { code: 'INTEGRITY_ERROR' } },
  ]);
  await clearAway(schedule);
});

describe('a newest backup that is no longer in its storage', () => {
  test('takes the place of none: the last real one stays, the loss is found and told', { tags: 'long' }, async () => {
    const schedule = await create({ retentionPolicy: { last: 2 } });
    const real = (await run(schedule)).id;
    const lost = (await run(schedule)).id;
    await loseObjects(lost);
    await call('PATCH', `/schedules/${schedule}`, { retentionPolicy: { last: 1 } });
    expect(await idsAfterwards(schedule)).toContain(real);
    await expect.poll(async () => (await bench.get(`/backups/${lost}`)).verification?.status, patience).toBe('failed');
    await lookAround();
    expect(await idsOf(schedule)).toContain(real);
    expect([...(await folders())]).toContain(real);
    expect((await bench.get(`/backups/${lost}`)).anomaly).toMatchObject({ reason: 'verification_failed' });
    await call('POST', `/projects/${bench.shop.projectId}/retention/unfreeze`);
    await clearAway(schedule);
  });

  test('is told by a rescan: its copy has failed', async () => {
    const schedule = await create({});
    const lost = (await run(schedule)).id;
    await loseObjects(lost);
    const started = await call('POST', `/storage-destinations/${bench.shop.destinationId}/rescan`);
    const task = await untilEnded(bench.app, started.headers.get('location') as string, bench.as);
    expect(task).toMatchObject({ status: 'completed', result: { missing: 1 } });
    expect((await bench.get(`/backups/${lost}`)).copies).toMatchObject([{ status: 'failed' }]);
    await expect.poll(async () => (await bench.get(`/backups/${lost}`)).verification?.status, patience).toBe('failed');
    await clearAway(schedule);
  });
});
