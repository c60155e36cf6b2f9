// @module-tag long
import { mkdir, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type App, startApp } from '../../app.ts';
import type { BackupBench } from '../../testing/backup-bench.ts';
import { startPitrBench, usersAt } from '../../testing/pitr-bench.ts';
import { untilEnded } from '../../testing/protected-project.ts';

/** What becomes of a log when workers die, keys change, storage is looked after, and projects and organizations go. */
let bench: BackupBench;
let owner: pg.Client;
let second: App | undefined;
beforeAll(async () => {
  ({ bench, owner } = await startPitrBench());
  for (let n = 0; n < 5; n++) await doc(`users/${n}`).set({ n });
  await call('POST', pitrPath('/enable'), {});
  await vi.waitUntil(async () => (await shown()).status === 'running', { timeout: 60_000, interval: 100 });
});
afterAll(async () => {
  await second?.close();
  await owner.end();
  await bench.close();
});

const doc = (path: string) => bench.firestore.doc(path);
const pitrPath = (rest = '', projectId = bench.shop.projectId) => `/projects/${projectId}/pitr${rest}`;
async function call(method: string, path: string, body?: object) {
  const answer = await bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body ? { body } : {}) });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
  return answer.body.data;
}
const shown = () => call('GET', pitrPath());
const one = async (sql: string, values: unknown[] = []) => (await owner.query(sql, values)).rows[0];

/** A moment that is covered, and in no gap: a pause that lasts on a busy machine is one. */
async function captured(): Promise<string> {
  await sleep(20);
  const at = Date.now();
  const isCovered = async () => Date.parse((await shown()).coveredTo ?? 0) > at + 20;
  await vi.waitUntil(isCovered, { timeout: 60_000, interval: 50 });
  const { gaps } = (await shown()) as { gaps: { from: string; to: string }[] };
  const isMissing = gaps.some(({ from, to }) => Date.parse(from) <= at && at <= Date.parse(to));
  return isMissing ? captured() : new Date(at).toISOString();
}
const folder = (...path: string[]) => join(bench.app.folder, 'storage', bench.as.organizationId, ...path);
async function runTask(kind: string, destinationId: string, body?: object) {
  const { id } = await call('POST', `/storage-destinations/${destinationId}/${kind}`, body);
  return untilEnded(bench.app, `/api/v1/storage-destinations/${destinationId}/tasks/${id}`, bench.as);
}

test('a lease whose holder has died is taken within 30 s under a new epoch, and an older epoch can append nothing', async () => {
  const { epoch, covered_through } = await one('select epoch, covered_through from pitr_logs');
  await owner.query("update pitr_logs set holder = 'dead', heartbeat_at = now()");
  const began = performance.now();
  const isTaken = async () => (await one('select epoch, holder from pitr_logs')).epoch > epoch;
  await vi.waitUntil(isTaken, { timeout: 60_000, interval: 100 });
  expect(performance.now() - began).toBeLessThan(30_000);
  await doc('users/after').set({ n: 1 });
  // What changed while nobody captured lies in a gap, which is told; behind it everything is there.
  await captured();
  const at = await captured();
  expect(await usersAt(bench, at)).toContain('users/after');
  expect((await one('select covered_through from pitr_logs')).covered_through > covered_through).toBe(true);
  // The same worker was the older epoch: its stream ended with the lease, and no stretch is told twice.
  const { rows } = await owner.query('select covered_from, covered_through from pitr_segments order by covered_from');
  for (const [index, row] of rows.entries())
    if (index > 0) expect(row.covered_from >= rows[index - 1].covered_through).toBe(true);
});

test('a destination tells of the logs in it', async () => {
  const rows = await call('GET', `/storage-destinations/${bench.shop.destinationId}/projects`);
  const { log } = rows.find(({ projectId }: { projectId: string }) => projectId === bench.shop.projectId);
  expect(log.enabled).toBe(true);
  expect(log.segments).toBeGreaterThan(0);
  expect(log.bytes).toBeGreaterThan(0);
  expect(Date.parse(log.coveredThrough)).toBeGreaterThan(Date.now() - 60_000);
});

test('projects are shared among the processes that run, and go back to the one that is left', async () => {
  const ids: string[] = [];
  for (let n = 0; n < 5; n++) {
    const connection = { type: 'emulator', host: bench.sandbox.address };
    const { id } = await call('POST', '/projects', { name: `P${n}`, sourceProjectId: `p${n}`, connection });
    await call('POST', pitrPath('/enable', id), {});
    ids.push(id);
  }
  const holders = async () =>
    (await owner.query('select holder, count(*)::int as n from pitr_logs where holder is not null group by 1')).rows
      .map(({ n }) => n)
      .sort();
  await vi.waitUntil(async () => (await holders()).join() === '6', { timeout: 60_000, interval: 100 });
  second = await startApp(
    { ...bench.app.platform.config, HOLDFAST_ROLES: ['worker'] },
    { clock: bench.app.clock, log: bench.app.platform.log },
  );
  await vi.waitUntil(async () => (await holders()).join() === '3,3', { timeout: 60_000, interval: 100 });
  await second.close();
  second = undefined;
  await vi.waitUntil(async () => (await holders()).join() === '6', { timeout: 60_000, interval: 100 });
  // The first backup of one may still be under way.
  for (const id of ids) await vi.waitFor(() => call('DELETE', `/projects/${id}`), { timeout: 60_000, interval: 200 });
  expect((await one('select count(*)::int as n from pitr_logs')).n).toBe(1);
});

test('what keeps capture from reading is told by status and project, and a reconnect lets it go on at once', async () => {
  bench.sandbox.control.addFault({ method: 'Listen', status: 'PERMISSION_DENIED' });
  bench.sandbox.control.addFault({ method: 'RunQuery', status: 'PERMISSION_DENIED' });
  await owner.query('update pitr_logs set holder = null');
  await vi.waitUntil(async () => (await shown()).status === 'error', { timeout: 60_000, interval: 100 });
  expect((await shown()).error).toMatchObject({ code: 'SOURCE_AUTH_ERROR' });
  expect((await call('GET', `/projects/${bench.shop.projectId}`)).connection.status).toBe('unauthorized');
  bench.sandbox.control.clearFaults();
  await owner.query("update pitr_logs set retry_at = now() + interval '1 hour', holder = null");
  await call('POST', `/projects/${bench.shop.projectId}/reconnect`, {});
  await vi.waitUntil(async () => (await shown()).status === 'running', { timeout: 60_000, interval: 100 });
  expect((await call('GET', `/projects/${bench.shop.projectId}`)).connection.status).toBe('connected');
});

test('a sweep removes only segments that nobody may need, and a rescan brings a lost log back', async () => {
  await doc('users/kept').set({ n: 1 });
  const at = await captured();
  // Quiet time is told by the next segment: a bucket alone knows nothing behind its last one.
  await doc('users/last').set({ n: 1 });
  await captured();
  const { log_id } = await one('select log_id from pitr_logs');
  const stale = `logs/${log_id}/segments/20200101000000000000000-${'a'.repeat(32)}`;
  const gone = `logs/log_0000000000abcdefghjkmnpqrs/segments/20200101000000000000000-${'b'.repeat(32)}`;
  const young = `logs/${log_id}/segments/20200101000000000000000-${'c'.repeat(32)}`;
  // Of another server that captures the same log, or from after the copy of the database that this one came back from.
  const ahead = `logs/${log_id}/segments/29990101000000000000000-${'d'.repeat(32)}`;
  for (const key of [stale, gone, young, ahead]) {
    await mkdir(join(folder(key), '..'), { recursive: true });
    await writeFile(folder(key), 'left behind');
    if (key !== young) await utimes(folder(key), new Date(0), new Date(0));
  }
  for (const file of await readdir(folder('logs', log_id, 'segments')))
    if (!file.includes('c'.repeat(32)))
      await utimes(folder('logs', log_id, 'segments', file), new Date(0), new Date(0));
  const swept = await runTask('sweep', bench.shop.destinationId);
  expect(swept.result).toMatchObject({ removed: 2, failures: [{ key: `logs/${log_id}/manifest` }] });
  expect(swept.result.failures[0].reason).toContain('captured time that this catalogue does not know');
  await rm(folder(ahead));
  expect(await usersAt(bench, at)).toContain('users/kept');
  await owner.query('delete from pitr_segments; delete from pitr_logs');
  expect((await shown()).enabled).toBe(false);
  const { result } = await runTask('rescan', bench.shop.destinationId);
  expect(result.registered).toBe(1);
  expect(result.failures).toEqual([]);
  expect(await usersAt(bench, at)).toContain('users/kept');
  await call('POST', pitrPath('/enable'), {});
  await vi.waitUntil(async () => (await shown()).status === 'running', { timeout: 60_000, interval: 100 });
});

test('a migration takes the log along with its bases; what was captured and what follows can be reached', async () => {
  await doc('users/before').set({ n: 1 });
  const before = await captured();
  const target = await call('POST', '/storage-destinations', { name: 'Other', type: 'local', path: 'other' });
  // The capture may just have asked for a base.
  const open = async () => one(`select count(*)::int as n from backups where status in ('pending', 'running')`);
  await vi.waitUntil(async () => (await open()).n === 0, { timeout: 60_000, interval: 100 });
  const moved = await runTask('migrate', bench.shop.destinationId, { toStorageDestinationId: target.id });
  expect(moved.error).toBeNull();
  expect((await shown()).storageDestinationId).toBe(target.id);
  await doc('users/behind').set({ n: 1 });
  const after = await captured();
  expect(await usersAt(bench, before)).toContain('users/before');
  expect(await usersAt(bench, after)).toEqual(expect.arrayContaining(['users/before', 'users/behind']));
  const { log_id } = await one('select log_id from pitr_logs');
  // What a capture had begun to write when it was paused belongs to nobody: a sweep takes it later.
  const { keys } = await one('select string_agg(key, chr(10)) as keys from pitr_segments');
  const left = async () => {
    const files = await readdir(folder('logs', log_id, 'segments')).catch(() => []);
    return files.filter((file) => String(keys).includes(file));
  };
  await vi.waitUntil(async () => (await left()).length === 0, { timeout: 45_000, interval: 100 });
  const refused = await bench.app.request('DELETE', `/api/v1/storage-destinations/${target.id}`, bench.as);
  expect(refused.body.error.code).toBe('RESOURCE_IN_USE');
});

test('migrating a damaged log does not replace whole objects in the new place', async () => {
  await doc('users/harmed').set({ n: 1 });
  const at = await captured();
  const { key } = await one('select key from pitr_segments order by covered_through desc limit 1');
  const [source, target] = [folder('other', key), folder(key)];
  const whole = await readFile(source);
  await mkdir(dirname(target), { recursive: true });
  await writeFile(target, whole);
  await writeFile(source, whole.subarray(0, -1));
  const { storageDestinationId } = await shown();
  const { log_id } = await one('select log_id from pitr_logs');
  const endReading = await bench.app.platform.database.useLocks.hold([`${log_id} in ${storageDestinationId}`]);
  const moved = await runTask('migrate', storageDestinationId, { toStorageDestinationId: bench.shop.destinationId });
  expect(moved.error).toBeNull();
  expect(Buffer.compare(await readFile(target), whole)).toBe(0);
  await vi.waitUntil(async () => (await shown()).status === 'running', { timeout: 60_000, interval: 100 });
  expect(await usersAt(bench, at)).toContain('users/harmed');
  // Somebody still reads where it lay before.
  const removal = () =>
    one(`select retry_count as n from pgboss.job where name = 'pitr-log-remove' and state = 'retry'`);
  await vi.waitUntil(async () => (await removal()) !== undefined, { timeout: 60_000, interval: 100 });
  expect((await stat(source)).size).toBeGreaterThan(0);
  await endReading();
  await vi.waitUntil(async () => (await stat(source).catch(() => undefined)) === undefined, {
    timeout: 30_000,
    interval: 100,
  });
});

test('while its organization is deleted nothing is captured or compacted; recovered, it goes on, and the time between is no secret', async () => {
  await doc('users/before').set({ n: 1 });
  await captured();
  const { name } = await call('GET', '/organizations/current');
  await call('POST', '/organizations/current/delete', { confirmName: name });
  await vi.waitUntil(async () => (await one('select holder from pitr_logs')).holder === null, {
    timeout: 30_000,
    interval: 100,
  });
  await doc('users/meanwhile').set({ n: 1 });
  const bases = async () => (await one("select count(*)::int as n from backups where trigger = 'pitr'")).n;
  const basesBefore = await bases();
  await owner.query("update pitr_logs set retention_days = 0, compact_due_at = now() - interval '1 second'");
  await bench.app.tasks.runNow('pitr upkeep');
  await owner.query('update pitr_logs set retention_days = 7');
  expect(await bases()).toBe(basesBefore);
  const recovered = await bench.app.request('POST', `/api/v1/organizations/${bench.as.organizationId}/recover`, {
    token: bench.as.token,
  });
  expect(recovered.status, recovered.text).toBeLessThan(300);
  await owner.query('update pitr_logs set retry_at = null');
  await vi.waitUntil(async () => (await shown()).status === 'running', { timeout: 60_000, interval: 100 });
  expect(await usersAt(bench, await captured())).toContain('users/meanwhile');
});

test('where the source cannot be opened any more, the manifest follows a rotation all the same', async () => {
  await owner.query("update projects set connection_type = 'oauth'");
  await call('POST', '/organizations/current/encryption-key/rotate', {});
  const isWritten = async () => (await one('select manifest_written from pitr_logs')).manifest_written;
  await vi.waitUntil(isWritten, { timeout: 60_000, interval: 100 });
  await vi.waitUntil(async () => (await shown()).error?.code === 'SOURCE_AUTH_ERROR', {
    timeout: 30_000,
    interval: 100,
  });
  await owner.query("update projects set connection_type = 'emulator'");
  await owner.query('update pitr_logs set retry_at = null');
  await vi.waitUntil(async () => (await shown()).status === 'running', { timeout: 60_000, interval: 100 });
});

test('switched off, its key is wrapped anew by a rotation and the manifest in the bucket follows', async () => {
  await call('POST', pitrPath('/disable'), {});
  const at = (await shown()).coveredTo;
  await call('POST', '/organizations/current/encryption-key/rotate', {});
  expect((await one('select manifest_written from pitr_logs')).manifest_written).toBe(false);
  await bench.app.tasks.runNow('pitr manifests');
  expect((await one('select manifest_written from pitr_logs')).manifest_written).toBe(true);
  expect(await usersAt(bench, at)).toContain('users/meanwhile');
});

test('a key that was withdrawn ends capture at once; with the key it goes on', async () => {
  const path = '/organizations/current/encryption-key';
  await call('POST', pitrPath('/enable'), {});
  await call('PUT', path, { passphrase: 'a key of our own' });
  await vi.waitUntil(async () => (await shown()).status === 'running', { timeout: 60_000, interval: 100 });
  const before = await one('select key_id from pitr_logs');
  await call('POST', `${path}/rotate`, {});
  expect((await one('select key_id from pitr_logs')).key_id).not.toBe(before.key_id);
  await vi.waitUntil(async () => (await shown()).status === 'running', { timeout: 60_000, interval: 100 });
  await call('DELETE', path);
  await vi.waitUntil(async () => (await shown()).error?.code === 'DECRYPTION_ERROR', {
    timeout: 30_000,
    interval: 100,
  });
  await call('PUT', path, { passphrase: 'a key of our own' });
  await vi.waitUntil(async () => (await shown()).status === 'running', { timeout: 60_000, interval: 100 });
});

test('an organization that is purged leaves no log behind', async () => {
  const { name } = await call('GET', '/organizations/current');
  const other = join(bench.app.folder, 'storage', bench.as.organizationId, 'other', 'logs');
  expect((await readdir(other, { recursive: true })).length).toBeGreaterThan(0);
  const { log_id } = await one('select log_id from pitr_logs');
  await call('POST', '/organizations/current/delete', { confirmName: name, force: true });
  const files = async () =>
    (await readdir(other, { recursive: true, withFileTypes: true }).catch(() => [])).filter((entry) => entry.isFile());
  await vi.waitUntil(async () => (await files()).length === 0, { timeout: 60_000, interval: 200 });
  expect((await one('select count(*)::int as n from pitr_logs')).n).toBe(0);
  // The last word of whoever captured may come behind the look.
  const late = join(other, log_id, 'segments', 'late');
  await mkdir(dirname(late), { recursive: true });
  await writeFile(late, 'x');
  const itsTime = "update pgboss.job set start_after = now() where name = 'organization-logs-remove'";
  await vi.waitUntil(async () => (await owner.query(itsTime)).rowCount! > 0 && (await files()).length === 0, {
    timeout: 30_000,
    interval: 200,
  });
});
