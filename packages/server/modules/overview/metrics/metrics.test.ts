// @module-tag long
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parser } from '@prometheus-io/lezer-promql';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { asOwner } from '../../../testing/people.ts';
import { scrape } from '../../../testing/scrape.ts';
import { ExpectedIntervals } from './expected-intervals.ts';

let bench: BackupBench;
let schedule: { id: string; name: string; createdAt: string };
beforeAll(async () => {
  bench = await startBackupBench({ ...hasty, PITR_SEGMENT_SECONDS: '0.1' });
  await bench.firestore.doc('users/ada').set({ n: 1 });
  schedule = await call('POST', '/schedules', {
    projectId: bench.shop.projectId,
    name: 'Every "night" \\ of {ours}',
    cron: '0 2 * * *',
    drillEvery: 7,
  });
});
afterAll(() => bench.close());

async function call(method: string, path: string, body: object = {}) {
  const answer = await bench.app.request(method, `/api/v1${path}`, { ...bench.as, body });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body?.data;
}
const labels = () => ({ organization: bench.shop.organizationId, project: bench.shop.projectId });
const ofSchedule = () => ({ ...labels(), schedule: schedule.id });
const lastSuccess = 'holdfast_backup_last_success_timestamp_seconds';

async function runSchedule() {
  const { id: backupId } = await call('POST', `/schedules/${schedule.id}/run`);
  await expect.poll(async () => (await bench.get(`/backups/${backupId}`)).status).not.toMatch(/pending|running/);
  return backupId as string;
}

test('before anything happened all metrics are zero, and a schedule is measured from its creation', async () => {
  const before = await scrape(bench.app);
  expect(before.values(lastSuccess)).toEqual([]);
  expect(before.values('holdfast_backup_runs_total', { status: 'failed' })).toEqual([0]);
  expect(before.values('holdfast_schedule_expected_interval_seconds', ofSchedule())).toEqual([86_400]);
  expect(before.values('holdfast_drill_expected_interval_seconds', ofSchedule())).toEqual([7 * 86_400]);
  const made = Date.parse(schedule.createdAt) / 1000;
  expect(before.values('holdfast_schedule_promised_since_timestamp_seconds', ofSchedule())).toEqual([made]);
  expect(before.values('holdfast_drill_promised_since_timestamp_seconds', ofSchedule())).toEqual([made]);
  expect(before.values('holdfast_schedule_info', { name: 'Every "night" \\ of {ours}' })).toEqual([1]);
});

test('a good backup and a failed one, manual and scheduled, are distinguished', async () => {
  const backupId = await runSchedule();
  await bench.backUp();
  bench.sandbox.control.addFault({ method: 'RunQuery', status: 'PERMISSION_DENIED', times: 100 });
  expect((await bench.run()).status).toBe('failed');
  await runSchedule();
  bench.sandbox.control.clearFaults();
  const backup = await bench.get(`/backups/${backupId}`);
  const after = await scrape(bench.app);
  expect(after.values(lastSuccess, ofSchedule())).toEqual([Date.parse(backup.completedAt) / 1000]);
  expect(after.values(lastSuccess, { ...labels(), schedule: '' })).toHaveLength(1);
  const [asOf] = after.values('holdfast_backup_newest_snapshot_timestamp_seconds', ofSchedule());
  expect(asOf).toBeCloseTo(Date.parse(backup.snapshotTime) / 1000, 2);
  expect(after.values('holdfast_backup_stored_bytes', ofSchedule())).toEqual([backup.compressedSize]);
  expect(after.values('holdfast_backup_runs_total', { status: 'completed' })).toEqual([2]);
  expect(after.values('holdfast_backup_runs_total', { status: 'failed' })).toEqual([2]);
  expect(after.values('holdfast_schedule_failures_in_a_row', ofSchedule())).toEqual([1]);
  expect(after.values('holdfast_source_reads_total')[0]).toBeGreaterThan(0);
  // Retention also merges old backups while every run fails.
  const merge = await bench.backUp();
  await asOwner(bench.app.databaseUrl, (client) =>
    client.query(
      `update backups set type = 'synthetic', schedule_id = $1, snapshot_time = '2020-01-01T00:00:00.000000Z' where id = $2`,
      [schedule.id, merge],
    ),
  );
  const merged = await scrape(bench.app);
  expect(merged.values('holdfast_schedule_failures_in_a_row', ofSchedule())).toEqual([1]);
  expect(merged.values(lastSuccess, ofSchedule())).toEqual([Date.parse(backup.completedAt) / 1000]);
  await asOwner(bench.app.databaseUrl, (client) =>
    client.query(`update backups set status = 'failed', stands_for = $1 where id = $2`, [backupId, merge]),
  );
  const notMerged = await scrape(bench.app);
  expect(notMerged.values('holdfast_schedule_failures_in_a_row', ofSchedule())).toEqual([1]);
  await call('DELETE', `/backups/${merge}`);
});

test('every metric that a rule or the dashboard names exists, and every query can be parsed', async () => {
  const backupId = await bench.backUp();
  const { id } = await call('POST', `/backups/${backupId}/drill`);
  await expect
    .poll(async () => (await bench.get(`/backups/${backupId}/drills`)).find((drill: { id: string }) => drill.id === id))
    .toMatchObject({ passed: true });
  await call('POST', `/projects/${bench.shop.projectId}/pitr/enable`);
  await expect.poll(async () => (await bench.get(`/projects/${bench.shop.projectId}/pitr`)).coveredTo).not.toBeNull();
  await asOwner(bench.app.databaseUrl, (client) =>
    client.query(
      `insert into pgboss.job (name, data, start_after) select name, '{}', now() + interval '1 day' from pgboss.queue limit 1`,
    ),
  );
  const told = await scrape(bench.app);
  expect(told.values('holdfast_drill_last_success_timestamp_seconds', labels())).toHaveLength(1);
  expect(told.values('holdfast_pitr_lag_seconds', labels())[0]).toBeLessThan(600);
  const queries = [...ruleQueries(), ...dashboardQueries()];
  expect(queries.length).toBeGreaterThan(25);
  const unknown = queries.flatMap(metricsIn).filter((name) => !told.names.has(name.replace(/_bucket$/, '')));
  expect(unknown).toEqual([]);
});

test('a rhythm is measured from when it was set, and a change of anything else changes nothing', async () => {
  const since = async () => {
    const told = await scrape(bench.app);
    const names = [
      'holdfast_schedule_promised_since_timestamp_seconds',
      'holdfast_drill_promised_since_timestamp_seconds',
    ];
    return names.flatMap((name) => told.values(name, ofSchedule()));
  };
  const change = async (body: object) => {
    bench.app.clock.advance(60_000);
    const { updatedAt } = await call('PATCH', `/schedules/${schedule.id}`, body);
    return Date.parse(updatedAt) / 1000;
  };
  const made = Date.parse(schedule.createdAt) / 1000;
  await change({ name: schedule.name, retention: 30, drillEvery: 7 });
  expect(await since()).toEqual([made, made]);
  const drilled = await change({ drillEvery: 3 });
  expect(await since()).toEqual([made, drilled]);
  const oftener = await change({ cron: '0 * * * *' });
  expect(await since()).toEqual([oftener, oftener]);
});

test('a deleted thing has no series, and its counts stay', async () => {
  const before = await scrape(bench.app);
  const [counted] = before.values('holdfast_backup_runs_total', { status: 'completed' });
  await call('PATCH', `/schedules/${schedule.id}`, { enabled: false });
  expect((await scrape(bench.app)).values('holdfast_schedule_expected_interval_seconds', ofSchedule())).toEqual([]);
  await call('DELETE', `/schedules/${schedule.id}`);
  const { text } = await bench.app.request('GET', '/metrics');
  expect(text).not.toContain(schedule.id);
  await asOwner(bench.app.databaseUrl, (client) => client.query('delete from backups'));
  const after = await scrape(bench.app);
  expect(after.values(lastSuccess)).toEqual([]);
  expect(after.values('holdfast_backup_runs_total', { status: 'completed' })[0]).toBeGreaterThanOrEqual(counted!);
});

test('the expected interval is the longer of the current and the previous one', async () => {
  const workdays = [{ cron: '0 9 * * 1-5', timezone: 'UTC' }];
  const intervals = new ExpectedIntervals();
  const hours = async (at: string) =>
    (await intervals.seconds(workdays, new Date(at))).map((seconds) => seconds! / 3600);
  expect(await hours('2026-03-08T12:00:00Z'), 'Sunday').toEqual([72]);
  expect(await hours('2026-03-09T09:10:00Z'), 'Monday, just due').toEqual([72]);
  expect(await hours('2026-03-10T09:10:00Z'), 'Tuesday').toEqual([24]);
});

const repository = new URL('../../../../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, repository), 'utf8');

interface Rules {
  groups: { rules: { expr: string }[] }[];
}
interface Dashboard {
  panels: { targets: { expr: string }[] }[];
}
const ruleQueries = () =>
  (parseYaml(read('deploy/prometheus/holdfast.rules.yaml')) as Rules).groups.flatMap(({ rules }) =>
    rules.map(({ expr }) => expr),
  );
const dashboardQueries = () =>
  (JSON.parse(read('deploy/grafana/holdfast.json')) as Dashboard).panels.flatMap(({ targets }) =>
    targets.map(({ expr }) => expr),
  );

/** The metric names in a query, by Prometheus's own grammar; throws for a query that it cannot parse. */
function metricsIn(query: string): string[] {
  const names: string[] = [];
  parser.parse(query).iterate({
    enter: (node) => {
      if (node.type.isError) throw new Error(`not a query: ${query}`);
      if (node.name === 'VectorSelector') {
        const name = node.node.getChild('Identifier');
        if (name) names.push(query.slice(name.from, name.to));
      }
    },
  });
  return names;
}

const hasPromtool = spawnSync('promtool', ['--version']).status === 0;

test.skipIf(!hasPromtool)('each rule fires and resolves (needs promtool)', () => {
  const folder = new URL('deploy/prometheus/', repository);
  const output = execFileSync('promtool', ['test', 'rules', 'holdfast.rules.test.yaml'], { cwd: folder });
  expect(output.toString()).toContain('SUCCESS');
  const tested = read('deploy/prometheus/holdfast.rules.test.yaml');
  for (const [, alert] of read('deploy/prometheus/holdfast.rules.yaml').matchAll(/alert: (\w+)/g))
    expect(tested.match(new RegExp(`alertname: ${alert}\\b`, 'g'))?.length, alert).toBeGreaterThan(2);
});

test.skipIf(!hasPromtool)('a scrape keeps the conventions of Prometheus (needs promtool)', async () => {
  const { text } = await bench.app.request('GET', '/metrics');
  const { stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: text });
  // The names of Node's own metrics come from prom-client and are known to break the conventions.
  const complaints = `${stdout}${stderr}`.split('\n').filter((line) => line.startsWith('holdfast'));
  expect(complaints).toEqual([]);
});
