import pg from 'pg';
import { type BackupCluster, startBackupCluster } from './backup-cluster.ts';
import { pause } from './repetition.ts';
import { RoleKiller } from './role-killer.ts';

export interface ScheduleChaos {
  schedules: number;
  dueTimes: number;
  workers: number;
  /** Time between two kills, random up to twice this. */
  killEveryMs: number;
  /** The database to copy; if absent, the template of the test run. */
  templateUrl?: string;
  log?: (line: string) => void;
}

export interface ScheduleChaosResult {
  dueTimes: number;
  kills: number;
  /** Runs of all due times by their outcome. */
  outcomes: Record<string, number>;
  withoutRun: number;
  withTwoRuns: number;
  /** Triggered runs whose backup never ended, or that disagree with their backup. */
  unfinished: number;
  backupsWithoutRun: number;
}

/**
 * Two schedulers and some workers, killed at random while due times come. Only time is simulated: schedules become due
 * when the test says so, each at its own instant.
 */
export async function runScheduleChaos(options: ScheduleChaos): Promise<ScheduleChaosResult> {
  const bench = await startBackupCluster({
    documents: 200,
    roles: 'api',
    ...(options.templateUrl ? { templateUrl: options.templateUrl } : {}),
  });
  const database = new pg.Pool({ connectionString: bench.databaseUrl, max: 2 });
  const killer = new RoleKiller(bench.cluster, options.killEveryMs);
  try {
    const ids = await makeSchedules(bench, options.schedules);
    await killer.start(['scheduler', 'scheduler', ...Array<'worker'>(options.workers).fill('worker')]);
    const due: { id: string; at: Date }[] = [];
    while (due.length < options.dueTimes) {
      const killsBefore = killer.kills;
      for (const id of ids) due.push({ id, at: await makeDue(database, id) });
      await settle(database);
      // Every round of due times loses a process.
      while (killer.kills === killsBefore) await pause(50);
      options.log?.(`${due.length} due times, ${killer.kills} kills`);
    }
    await killer.stop();
    await settle(database);
    return { ...(await judge(database, due)), kills: killer.kills };
  } finally {
    await killer.stop();
    await database.end();
    await bench.close();
  }
}

/** One project each, because a project runs one backup at a time. */
async function makeSchedules({ client, firestore, database }: BackupCluster, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n++) {
    const connection = { type: 'emulator' as const, host: firestore.address };
    const body = { name: `Project ${n}`, sourceProjectId: database.project, connection };
    const { id: projectId } = await client.createProject({ body });
    const schedule = { projectId, name: `Schedule ${n}`, cron: '0 0 1 1 *', retentionPolicy: { last: 2 } };
    ids.push((await client.createSchedule({ body: schedule })).id);
  }
  return ids;
}

async function makeDue(database: pg.Pool, id: string): Promise<Date> {
  const { rows } = await database.query<{ at: Date }>(
    `update schedules set next_run_at = date_trunc('milliseconds', clock_timestamp()) where id = $1
     returning next_run_at as at`,
    [id],
  );
  return rows[0]!.at;
}

/** Waits until every due time is taken and every backup has ended. */
async function settle(database: pg.Pool): Promise<void> {
  for (;;) {
    const { rows } = await database.query<{ open: string }>(
      `select (select count(*) from schedules where next_run_at <= now())
            + (select count(*) from backups where status in ('pending', 'running') and deleted_at is null) as open`,
    );
    if (Number(rows[0]?.open) === 0) return;
    await pause(200);
  }
}

async function judge(database: pg.Pool, due: readonly { id: string; at: Date }[]) {
  const { rows } = await database.query<{ schedule_id: string; due_at: Date; status: string; backup: string | null }>(
    `select r.schedule_id, r.due_at, r.status, b.status as backup
       from schedule_runs r left join backups b on b.id = r.backup_id`,
  );
  const byDue = Map.groupBy(rows, (row) => `${row.schedule_id} ${row.due_at.toISOString()}`);
  const runsOf = due.map(({ id, at }) => byDue.get(`${id} ${at.toISOString()}`) ?? []);
  const outcomes: Record<string, number> = {};
  for (const [run] of runsOf) if (run) outcomes[run.status] = (outcomes[run.status] ?? 0) + 1;
  const stray = await database.query<{ count: string }>(
    `select count(*) from backups b where b.trigger = 'scheduled' and b.type <> 'synthetic'
        and not exists (select 1 from schedule_runs r where r.backup_id = b.id)`,
  );
  return {
    dueTimes: due.length,
    outcomes,
    withoutRun: runsOf.filter((runs) => runs.length === 0).length,
    withTwoRuns: runsOf.filter((runs) => runs.length > 1).length,
    unfinished: rows.filter(({ status, backup }) => status === 'triggered' || (backup !== null && backup !== status))
      .length,
    backupsWithoutRun: Number(stray.rows[0]?.count),
  };
}
