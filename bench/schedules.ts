import type pg from 'pg';
import { startApiWorld } from './api-world.ts';
import { type Bench, figure, median } from './figure.ts';

const schedules = 100_000;
const due = 10_000;
const organizations = 100;
const claimTargetMs = 20_000;
const tickRounds = 30;

/**
 * The scheduler on a catalogue of many schedules. Nothing is backed up: no worker runs, so that what is measured is the
 * claim of due times alone, with its runs, backups, events and audit rows.
 */
export const schedulesBench: Bench = {
  name: 'schedules',
  about: `${schedules.toLocaleString('en-US')} schedules in ${organizations} organizations, ${due.toLocaleString('en-US')} of them due in the same minute.`,
  async run() {
    const world = await startApiWorld('schedules');
    try {
      await fill(world.client, 1000);
      const fewMs = await tickMs(world);
      await fill(world.client, schedules - 1000);
      const manyMs = await tickMs(world);
      const claimedMs = await claimMs(world);
      return [
        figure('claimed in one minute', '20 s', claimedMs / claimTargetMs, 1, 'lower', {
          seconds: claimedMs / 1000,
          schedules: due,
        }),
        figure('a tick with nothing due', 'the same among 1,000 schedules', manyMs / fewMs, 1.5, 'lower', {
          milliseconds: manyMs,
          millisecondsAmongFew: fewMs,
        }),
      ];
    } finally {
      await world.close();
    }
  },
};

type World = Awaited<ReturnType<typeof startApiWorld>>;

/** Schedules that are due far in the future, spread over the organizations, each with a project and a destination. */
async function fill(client: pg.Client, count: number): Promise<void> {
  const { rows } = await client.query<{ count: string }>('select count(*) from schedules');
  const from = Number(rows[0]?.count);
  await client.query(
    `insert into organizations (id, name, slug, plan, default_storage_id, created_at, updated_at)
     select 'org_b' || n, 'Bench ' || n, 'bench-' || n, 'enterprise', 'dst_b' || n, now(), now()
       from generate_series(1, $1::int) n on conflict do nothing`,
    [organizations],
  );
  await client.query(
    `insert into storage_destinations (id, organization_id, name, type, status, created_at, updated_at)
     select 'dst_b' || n, 'org_b' || n, 'Folder', 'local', 'connected', now(), now()
       from generate_series(1, $1::int) n on conflict do nothing`,
    [organizations],
  );
  await client.query(
    `insert into projects (id, organization_id, name, source_project_id, database_id, connection_type, connection_status, created_at, updated_at)
     select 'prj_b' || n, 'org_b' || (n % $3 + 1), 'Project', 'p' || n, '(default)', 'emulator', 'connected', now(), now()
       from generate_series($1::int, $2::int) n`,
    [from + 1, from + count, organizations],
  );
  await client.query(
    `insert into schedules (id, organization_id, project_id, name, cron, timezone, enabled, type, collections,
       exclude_collections, include_subcollections, storage_destination_ids, catch_up, missed_after_minutes, next_run_at,
       created_at, updated_at)
     select 'sch_b' || n, 'org_b' || (n % $3 + 1), 'prj_b' || n, 'Nightly', '0 2 * * *', 'Europe/Berlin', true, 'full', '["*"]',
       '[]', true, '[]', 'latest', 15, now() + interval '30 days', now(), now()
       from generate_series($1::int, $2::int) n`,
    [from + 1, from + count, organizations],
  );
  await client.query('vacuum analyze');
}

async function tickMs({ app }: World): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < tickRounds; round++) {
    const startedMs = performance.now();
    await app.tasks.runNow('schedules');
    times.push(performance.now() - startedMs);
  }
  return median(times);
}

async function claimMs({ app, client }: World): Promise<number> {
  const now = app.platform.clock.now();
  await client.query(
    `update schedules set next_run_at = $1 where id in (select id from schedules order by md5(id) limit ${due})`,
    [now],
  );
  const startedMs = performance.now();
  const running = app.tasks.runNow('schedules');
  const isDue = 'select 1 from schedules where next_run_at <= $1 limit 1';
  while ((await client.query(isDue, [now])).rowCount !== 0) await new Promise((resolve) => setTimeout(resolve, 50));
  const tookMs = performance.now() - startedMs;
  await running;
  const { rows } = await client.query<{ runs: string; backups: string; late: string }>(
    `select (select count(*) from schedule_runs where status = 'triggered') as runs,
            (select count(*) from backups where trigger = 'scheduled') as backups,
            (select count(*) from schedules where next_run_at <= $1) as late`,
    [now],
  );
  const [found] = rows;
  if (Number(found?.runs) !== due || Number(found?.backups) !== due || Number(found?.late) !== 0)
    throw new Error(`${due} were due; there are ${JSON.stringify(found)}`);
  return tookMs;
}
