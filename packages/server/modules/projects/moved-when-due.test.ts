import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, startBackupBench } from '../../testing/backup-bench.ts';
import { foundOrganization } from '../../testing/people.ts';

let bench: BackupBench;
let owner: pg.Client;
beforeAll(async () => {
  bench = await startBackupBench();
  await bench.startOver();
  owner = new pg.Client(bench.app.databaseUrl);
  await owner.connect();
});
afterAll(async () => {
  await owner.end();
  await bench.close();
});

test('a run that is due when its project is moved takes place, or is reported', async () => {
  const { projectId } = bench.shop;
  const organizationId = await foundOrganization(bench.app, bench.shop.owner);
  const body = { name: 'Nightly', projectId, cron: '0 3 * * *' };
  const schedule = await bench.app.request('POST', '/api/v1/schedules', { ...bench.as, body });
  const { id } = schedule.body.data;
  const dueAt = new Date(Date.now() - 5000);
  // The move comes before any scheduler sees that the run is due.
  await owner.query('begin');
  await owner.query('update schedules set next_run_at = $2 where id = $1', [id, dueAt]);
  const moved = bench.app.request('PATCH', `/api/v1/projects/${projectId}`, { ...bench.as, body: { organizationId } });
  const waiting = `select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and query ~ 'schedules'`;
  const watcher = new pg.Client(bench.app.databaseUrl);
  await watcher.connect();
  await expect.poll(async () => (await watcher.query(waiting)).rows[0].n).toBeGreaterThan(0);
  await owner.query('commit');
  await watcher.end();
  const { status, text } = await moved;
  expect([200, 409], text).toContain(status);
  const { rows } = await owner.query('select due_at, status from schedule_runs where schedule_id = $1', [id]);
  expect(rows).toEqual([{ due_at: dueAt, status: expect.stringMatching(/triggered|completed/) }]);
});
