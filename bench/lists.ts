import { startApiWorld } from './api-world.ts';
import { type Bench, type Figure, figure, median } from './figure.ts';

const rows = 1_000_000;
/** Of lists that nobody was promised a million of. */
const otherRows = 250_000;
const rounds = 60;
/** The first pages after a start are slow, whatever the catalogue holds. */
const warmUpRounds = 30;
const twoPages = 100;
/** So many of the oldest rows have what the others have not: whoever walks from the newest meets them last. */
const rareRows = 60;

/** The lists with their filters; each page holds the same number of rows in both catalogues. */
const pathsAt = (newest: number, newestOther: number) => ({
  'first page of backups': '/backups',
  'backups of one project': '/backups?projectId=prj_rare',
  'failed backups': '/backups?status=failed',
  'failed backups of one project': '/backups?projectId=prj_rare&status=failed',
  'backups of one type': '/backups?type=incremental',
  'backups of one trigger': '/backups?trigger=api',
  'backups of one schedule': '/backups?scheduleId=sch_b',
  'newest backups by time': `/backups?from=${timeOf(newest - rareRows)}`,
  'oldest backups by time': `/backups?to=${timeOf(rareRows)}`,
  'oldest backups of a project by time': `/backups?projectId=prj_rare&to=${timeOf(rareRows)}`,
  'runs of a schedule': '/schedules/sch_b/runs',
  'first page of restores': '/backups/restore',
  'failed restores': '/backups/restore?status=failed',
  'restores from one project': '/backups/restore?projectId=prj_rare',
  'restores into one project': '/backups/restore?targetProjectId=prj_rare',
  'restores of one backup': '/backups/restore?backupId=bkp_rare',
  'oldest restores by time': `/backups/restore?to=${timeOf(rareRows)}`,
  'first page of the audit log': '/audit-logs',
  'one action': '/audit-logs?action=backup.rare',
  'one actor': '/audit-logs?actorId=usr_rare',
  'one kind of resource': '/audit-logs?resourceType=rare',
  'one resource': '/audit-logs?resourceId=bkp_rare',
  'oldest audit rows by time': `/audit-logs?to=${timeOf(rareRows)}`,
  'newest audit rows by time': `/audit-logs?from=${timeOf(newestOther - rareRows)}`,
  'first page of deliveries': '/webhooks/whk_b/deliveries',
  'failed deliveries': '/webhooks/whk_b/deliveries?status=failed',
  'deliveries of one event': '/webhooks/whk_b/deliveries?eventType=storage.error',
});

/** Rows are a minute apart. */
function timeOf(row: number): string {
  return new Date(Date.UTC(2020, 0, 1) + row * 60_000).toISOString();
}

/** The same pages of the same lists, first from an almost empty catalogue and then from a full one. */
export const listsBench: Bench = {
  name: 'lists',
  about: `Pages of lists with ${rows.toLocaleString('en-US')} backups and as many runs in the catalogue, and ${otherRows.toLocaleString('en-US')} restores, audit rows and deliveries, against the same pages of a catalogue that holds two pages. What a filter asks for lies at the far end.`,
  async run() {
    const [empty, full] = [await startWorld('lists_empty'), await startWorld('lists_full')];
    try {
      await fill(empty, 1, twoPages, twoPages);
      await fill(full, 1, rows, otherRows);
      const [few, many] = [pathsAt(twoPages, twoPages), pathsAt(rows, otherRows)];
      const figures: Figure[] = [];
      for (const name of Object.keys(few) as (keyof typeof few)[])
        figures.push(await compare(name, { world: empty, path: few[name] }, { world: full, path: many[name] }));
      return figures;
    } finally {
      await empty.close();
      await full.close();
    }
  },
};

async function startWorld(name: string) {
  const world = await startApiWorld(name, { RATE_LIMIT_PER_MINUTE: '1000000' });
  const { app, client } = world;
  const response = await fetch(app.signInLink ?? '', { redirect: 'manual' });
  const cookie = response.headers.getSetCookie().find((text) => text.startsWith('holdfast_access='));
  const token = cookie?.split(';')[0]?.slice('holdfast_access='.length) ?? '';
  const organization = await client.query<{ id: string }>('select id from organizations');
  return { ...world, token, organizationId: organization.rows[0]!.id };
}
type World = Awaited<ReturnType<typeof startWorld>>;

/** Ids grow with time, as those of the service do. */
const id = (prefix: string) => `'${prefix}_' || lpad(n::text, 12, '0')`;
const rare = (value: string, other: string) => `case when n <= ${rareRows} then '${value}' else ${other} end`;
const time = `'2020-01-01T00:00:00Z'::timestamptz + n * interval '1 minute'`;

async function fill({ client, organizationId }: World, from: number, to: number, toOther: number): Promise<void> {
  const insert = (text: string, last: number) =>
    client.query(`insert into ${text} from generate_series($2::int, $3::int) n`, [organizationId, from, last]);
  if (from === 1) await addOwners(client, organizationId);
  await insert(
    `backups (id, organization_id, project_id, schedule_id, type, status, trigger, collections, exclude_collections,
       include_subcollections, include_auth_users, storage_destination_id, phase, completed_at, created_at, updated_at)
     select ${id('bkp')}, $1, ${rare('prj_rare', `'prj_b' || n % 100`)}, case when n <= ${rareRows} then 'sch_b' end,
       ${rare('incremental', `'full'`)}, ${rare('failed', `'completed'`)}, ${rare('api', `'manual'`)}, '["*"]', '[]', true, false, 'dst_b',
       'Completed', now(), ${time}, now()`,
    to,
  );
  await insert(
    `schedule_runs (id, organization_id, schedule_id, due_at, by_hand, status, created_at)
     select ${id('run')}, $1, 'sch_b', ${time}, false, 'completed', now()`,
    to,
  );
  await insert(
    `restores (id, organization_id, backup_id, project_id, target_project_id, status, phase, merge_mode, dry_run, include_auth_users,
       include_subcollections, safety_backup, rewrite_references, delete_extra, checkpoint, created_at, updated_at)
     select ${id('rst')}, $1, ${rare('bkp_rare', `'bkp_' || n`)}, ${rare('prj_rare', `'prj_b' || n % 100`)}, ${rare('prj_rare', `'prj_b' || n % 100`)},
       ${rare('failed', `'completed'`)}, 'Completed', 'overwrite', false, false, true, true, true, false, '{}', ${time}, now()`,
    toOther,
  );
  // Behind the rows that the service has written itself.
  await insert(
    `audit_logs (organization_id, id, position, timestamp, action, actor_type, actor_id, resource_type, resource_id, details, previous_hash, hash)
     select $1, ${id('aud')}, n + 1000, ${time}, ${rare('backup.rare', `'backup.created'`)}, 'user', ${rare('usr_rare', `'usr_' || n % 100`)},
       ${rare('rare', `'backup'`)}, ${rare('bkp_rare', `'bkp_' || n`)}, '{}', '', ''`,
    toOther,
  );
  await insert(
    `webhook_deliveries (id, organization_id, webhook_id, event_id, event_type, status, attempts, created_at, finished_at)
     select ${id('dlv')}, $1, 'whk_b', ${id('evt')}, ${rare('storage.error', `'backup.progress'`)}, ${rare('failed', `'delivered'`)}, 1, ${time}, ${time}`,
    toOther,
  );
  await client.query('vacuum analyze backups, schedule_runs, restores, audit_logs, webhook_deliveries');
  // Otherwise the pages are measured while the rows just written go to the disk.
  await client.query('checkpoint');
}

async function addOwners(client: World['client'], organizationId: string): Promise<void> {
  await client.query(
    `insert into schedules (id, organization_id, project_id, name, cron, timezone, enabled, type, collections,
       exclude_collections, include_subcollections, storage_destination_ids, catch_up, missed_after_minutes, created_at, updated_at)
     values ('sch_b', $1, 'prj_b1', 'Nightly', '0 2 * * *', 'UTC', false, 'full', '["*"]', '[]', true, '[]', 'latest', 15, now(), now())`,
    [organizationId],
  );
  await client.query(
    `insert into webhooks (id, organization_id, name, url, events, format, enabled, sealed_headers, timeout_ms, retry_enabled,
       filters, created_at, updated_at)
     values ('whk_b', $1, 'Hook', 'https://example.com', '["*"]', 'standard', false, '', 30000, true, '{}', now(), now())`,
    [organizationId],
  );
}

interface Page {
  world: World;
  path: string;
}

/** Call by call in turns, so that whatever else the machine does meets both. */
async function compare(name: string, few: Page, many: Page): Promise<Figure> {
  const [fewMs, manyMs]: [number[], number[]] = [[], []];
  for (let round = -warmUpRounds; round < rounds; round++) {
    const pair = [await timeOfPage(few), await timeOfPage(many)] as const;
    if (round < 0) continue;
    fewMs.push(pair[0]);
    manyMs.push(pair[1]);
  }
  const [millisecondsEmpty, milliseconds] = [median(fewMs), median(manyMs)];
  return figure(name, 'an empty catalogue', milliseconds / millisecondsEmpty, 1.5, 'lower', {
    milliseconds,
    millisecondsEmpty,
  });
}

async function timeOfPage({ world: { app, token, organizationId }, path }: Page): Promise<number> {
  const headers = { authorization: `Bearer ${token}`, 'x-organization-id': organizationId };
  const startedMs = performance.now();
  const response = await fetch(`${app.address}/api/v1${path}`, { headers });
  const text = await response.text();
  const tookMs = performance.now() - startedMs;
  if (response.status !== 200) throw new Error(`${path}: ${text}`);
  const { data } = JSON.parse(text);
  const count = (data.deliveries ?? data).length;
  if (count !== 50) throw new Error(`${path} has ${count} rows instead of 50`);
  return tookMs;
}
