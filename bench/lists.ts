import { startApiWorld } from './api-world.ts';
import { type Bench, figure, median } from './figure.ts';

const rows = 1_000_000;
const rounds = 40;
const paths = {
  'first page of backups': '/backups',
  'backups of one project': '/backups?projectId=prj_b7',
  'backups of one schedule': '/backups?scheduleId=sch_b',
  'failed backups': '/backups?status=failed',
  'runs of a schedule': '/schedules/sch_b/runs',
};

/** The same pages of the same lists, first from an almost empty catalogue and then from a full one. */
export const listsBench: Bench = {
  name: 'lists',
  about: `Pages of lists with ${rows.toLocaleString('en-US')} backups and as many runs in the catalogue, against the same pages of a catalogue that holds one page.`,
  async run() {
    const world = await startWorld();
    try {
      await fill(world, 1, 100);
      const before = await measure(world);
      await fill(world, 101, rows);
      const after = await measure(world);
      return Object.keys(paths).map((name) =>
        figure(name, 'an empty catalogue', after[name]! / before[name]!, 1.5, 'lower', {
          milliseconds: after[name]!,
          millisecondsEmpty: before[name]!,
        }),
      );
    } finally {
      await world.close();
    }
  },
};

async function startWorld() {
  const world = await startApiWorld('lists', { RATE_LIMIT_PER_MINUTE: '1000000' });
  const { app, client } = world;
  const response = await fetch(app.signInLink ?? '', { redirect: 'manual' });
  const cookie = response.headers.getSetCookie().find((text) => text.startsWith('holdfast_access='));
  const token = cookie?.split(';')[0]?.slice('holdfast_access='.length) ?? '';
  const organization = await client.query<{ id: string }>('select id from organizations');
  return { ...world, token, organizationId: organization.rows[0]!.id };
}
type World = Awaited<ReturnType<typeof startWorld>>;

/** One in a thousand of the backups failed; a hundred projects; everything belongs to one schedule's runs. */
async function fill({ client, organizationId }: World, from: number, to: number): Promise<void> {
  const id = (prefix: string) => `'${prefix}_' || lpad(n::text, 12, '0')`;
  await client.query(
    `insert into schedules (id, organization_id, project_id, name, cron, timezone, enabled, type, collections,
       exclude_collections, include_subcollections, storage_destination_ids, catch_up, missed_after_minutes, created_at, updated_at)
     values ('sch_b', $1, 'prj_b1', 'Nightly', '0 2 * * *', 'UTC', false, 'full', '["*"]', '[]', true, '[]', 'latest', 15, now(), now())
     on conflict do nothing`,
    [organizationId],
  );
  await client.query(
    `insert into backups (id, organization_id, project_id, schedule_id, type, status, trigger, collections, exclude_collections,
       include_subcollections, include_auth_users, storage_destination_id, phase, completed_at, created_at, updated_at)
     select ${id('bkp')}, $1, 'prj_b' || n % 100, case when n % 100 = 1 then 'sch_b' end, 'full',
       case when n % 1000 = 0 then 'failed' else 'completed' end, 'manual', '["*"]', '[]', true, false, 'dst_b', 'Completed',
       now(), now(), now() from generate_series($2::int, $3::int) n`,
    [organizationId, from, to],
  );
  await client.query(
    `insert into schedule_runs (id, organization_id, schedule_id, due_at, by_hand, status, created_at)
     select ${id('run')}, $1, 'sch_b', '2000-01-01'::timestamptz + n * interval '1 minute', false, 'completed', now()
       from generate_series($2::int, $3::int) n`,
    [organizationId, from, to],
  );
  await client.query('vacuum analyze backups, schedule_runs');
}

async function measure({ app, token, organizationId }: World): Promise<Record<string, number>> {
  const headers = { authorization: `Bearer ${token}`, 'x-organization-id': organizationId };
  const found: Record<string, number> = {};
  for (const [name, path] of Object.entries(paths)) {
    const times: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const startedMs = performance.now();
      const response = await fetch(`${app.address}/api/v1${path}`, { headers });
      const text = await response.text();
      if (response.status !== 200) throw new Error(`${path}: ${text}`);
      times.push(performance.now() - startedMs);
    }
    found[name] = median(times);
  }
  return found;
}
