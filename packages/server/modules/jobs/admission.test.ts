import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { asOwner } from '../../testing/people.ts';
import { type ProtectedProject, protectProject } from '../../testing/protected-project.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';
import { admitVerifications } from '../backups/contents/start-verification.ts';
import { admitBackups } from '../backups/run/admission.ts';
import { admitDrills } from '../restores/drills/admission.ts';
import { admitRestores } from '../restores/run/admission.ts';
import { admitTasks } from '../storage/tasks/task-admission.ts';
import { openPerOrganizationMax } from './index.ts';

const queued = 500;
let app: TestApp;
let large: ProtectedProject;
let small: ProtectedProject;

// There is no worker, so admitted jobs stay in the queue and their order can be checked.
beforeAll(async () => {
  app = await startTestApp({ HOLDFAST_ROLES: 'api' });
  large = await protectProject(app, { sourceProjectId: 'large' });
  small = await protectProject(app, { sourceProjectId: 'small', firestore: large.firestore });
});
afterAll(async () => {
  await app.close();
  await large.close();
});

/** Inserts waiting records of one organization, each with its own place. */
type Fill = (organizationId: string, count: number, prefix: string) => [string, unknown[]];

const backupRow = `'full', 'manual', '["*"]', '[]', true, false, 'dst', 'Waiting', now(), now()`;
const backupColumns =
  'type, trigger, collections, exclude_collections, include_subcollections, include_auth_users, storage_destination_id, phase, created_at, updated_at';
const series = `from generate_series(1, $2) as n`;

const backups =
  (imported: string | null, type: string): Fill =>
  (organizationId, count, prefix) => [
    `insert into backups (id, organization_id, project_id, status, imported, ${backupColumns})
     select $3 || lpad(n::text, 5, '0'), $1, $3 || n, 'pending', ${imported === null ? 'null' : `'${imported}'`}, ${backupRow.replace('full', type)} ${series}`,
    [organizationId, count, prefix],
  ];

const kinds: Record<string, { queue: string; fill: Fill; admit: (platform: TestApp['platform']) => Promise<number> }> =
  {
    backup: { queue: 'backup-plan', fill: backups(null, 'full'), admit: admitBackups },
    import: { queue: 'backup-import', fill: backups('{"path":"p","source":"json"}', 'full'), admit: admitBackups },
    merge: { queue: 'backup-merge', fill: backups(null, 'synthetic'), admit: admitBackups },
    verification: {
      queue: 'backup-verify',
      admit: admitVerifications,
      fill: (organizationId, count, prefix) => [
        `insert into backups (id, organization_id, project_id, status, verification, ${backupColumns})
       select $3 || lpad(n::text, 5, '0'), $1, $3 || n, 'completed', '{"status":"running"}', ${backupRow} ${series}`,
        [organizationId, count, prefix],
      ],
    },
    restore: {
      queue: 'restore-run',
      admit: admitRestores,
      fill: (organizationId, count, prefix) => [
        `insert into restores (id, organization_id, backup_id, project_id, target_project_id, status, phase, merge_mode, dry_run,
         include_auth_users, include_subcollections, safety_backup, rewrite_references, delete_extra, checkpoint, created_at, updated_at)
       select $3 || lpad(n::text, 5, '0'), $1, 'bkp', 'prj', $3 || n, 'pending', 'Initializing', 'overwrite', false,
         false, true, false, true, false, '{"stage":"puts"}', now(), now() ${series}`,
        [organizationId, count, prefix],
      ],
    },
    drill: {
      queue: 'drill-run',
      admit: admitDrills,
      fill: (organizationId, count, prefix) => [
        `insert into drills (id, organization_id, backup_id, project_id, status, created_at)
       select $3 || lpad(n::text, 5, '0'), $1, 'bkp', 'prj', 'pending', now() ${series}`,
        [organizationId, count, prefix],
      ],
    },
    'storage task': {
      queue: 'storage-task-run',
      admit: admitTasks,
      fill: (organizationId, count, prefix) => [
        `insert into storage_tasks (id, organization_id, storage_destination_id, kind, status, progress, created_at)
       select $3 || lpad(n::text, 5, '0'), $1, $3 || n, 'rescan', 'pending', '{}', now() ${series}`,
        [organizationId, count, prefix],
      ],
    },
  };

/** The organizations of the jobs in a queue, in the order in which workers take them. */
async function order(client: pg.Client, queue: string): Promise<string[]> {
  const { rows } = await client.query<{ organization: string }>(
    `select data->>'organizationId' as organization from pgboss.job where name = $1 and state = 'created'
      order by priority desc, created_on, id`,
    [queue],
  );
  return rows.map(({ organization }) => organization);
}

for (const [kind, { queue, fill, admit }] of Object.entries(kinds)) {
  test(`one organization's ${queued} waiting jobs do not delay another's single ${kind}`, async () => {
    await asOwner(app.databaseUrl, async (client) => {
      await client.query('delete from pgboss.job');
      for (const table of ['backups', 'restores', 'drills', 'storage_tasks'])
        await client.query(`delete from ${table}`);
      await client.query(...fill(large.organizationId, queued, `${kind} a `));
      expect(await admit(app.platform)).toBe(openPerOrganizationMax);
      await client.query(...fill(small.organizationId, 1, `${kind} b `));
      expect(await admit(app.platform)).toBe(1);
      const waiting = await order(client, queue);
      expect(waiting).toHaveLength(openPerOrganizationMax + 1);
      // At most one job may come first: a worker may already have begun it.
      expect(waiting.indexOf(small.organizationId)).toBeLessThanOrEqual(1);
      expect(await admit(app.platform)).toBe(0);
    });
  });
}

test('any amount of paused work of a deleted organization takes no turn from others', async () => {
  await asOwner(app.databaseUrl, async (client) => {
    await client.query('delete from pgboss.job');
    await client.query('delete from restores');
    await client.query(...kinds.restore!.fill(large.organizationId, 300, 'still '));
    await client.query('update restores set admitted_at = now()');
    await client.query(...kinds.restore!.fill(small.organizationId, 1, 'waiting '));
    expect(await admitRestores(app.platform)).toBe(0);
    await client.query('update organizations set deleted_at = now() where id = $1', [large.organizationId]);
    expect(await admitRestores(app.platform)).toBe(1);
    await client.query('update organizations set deleted_at = null where id = $1', [large.organizationId]);
  });
});

test('concurrent calls to admit share one run', async () => {
  const { database } = app.platform;
  let runs = 0;
  const counting: typeof database = {
    ...database,
    system: (work) => {
      runs += 1;
      return database.system(work);
    },
  };
  const platform = { ...app.platform, database: counting };
  await Promise.all(Array.from({ length: 100 }, () => admitTasks(platform)));
  expect(runs).toBeLessThanOrEqual(2);
});
