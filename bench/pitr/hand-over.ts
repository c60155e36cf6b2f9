import pg from 'pg';
import { createWorld, pause, projectAt } from '../chaos/world.ts';
import { type Bench, type Figure, figure } from '../figure.ts';

const usual = { projects: 200, secondsMax: 30 };

export const handOverBench: Bench = {
  name: 'pitr-hand-over',
  about: `Point-in-time recovery: two worker processes share ${usual.projects} projects whose databases are empty, and one of them is killed. Every project is captured again, from where it was, when its covered time has passed the moment of the kill.`,
  run: () => measureHandOver(),
};

/** From `kill -9` until the covered time of each project has moved on under another worker. */
export async function measureHandOver({ projects, secondsMax } = usual): Promise<Figure[]> {
  const environment = { RATE_LIMIT_PER_MINUTE: '1000000' };
  const world = await createWorld({ documents: 10, workers: 2, roles: 'api,scheduler', environment });
  const catalogue = new pg.Client({ connectionString: world.databaseUrl });
  try {
    await catalogue.connect();
    world.firestore.control.setListenMode('as-production');
    await enableMany(world, projects);
    const count = async (condition: string, values: unknown[] = []) =>
      (await catalogue.query(`select count(*)::int as n from pitr_logs where ${condition}`, values)).rows[0]
        .n as number;
    const settled = `position is not null and holder is not null`;
    await until(async () => (await count(settled)) === projects && (await shares(catalogue)).length === 2);
    // Shared evenly, and every one of them past its start.
    await until(async () => (await shares(catalogue)).every((share) => Math.abs(share - projects / 2) <= 1));
    await pause(15_000);
    const [first] = world.cluster.workers;
    first!.kill('SIGKILL');
    const killedMs = Date.now();
    const killedAt = new Date(killedMs).toISOString();
    await until(async () => (await count('covered_through > $1', [killedAt])) === projects);
    const seconds = (Date.now() - killedMs) / 1000;
    const gaps = (await catalogue.query('select count(gap)::int as n from pitr_segments')).rows[0].n as number;
    const holders = (await shares(catalogue)).length;
    const details = { projects, gaps, holders };
    return [
      figure('seconds until all are captured again', 'none', seconds, secondsMax, 'lower', details, holders === 1),
    ];
  } finally {
    await catalogue.end();
    await world.close();
  }
}

type World = Awaited<ReturnType<typeof createWorld>>;

async function enableMany({ client, firestore }: World, projects: number): Promise<void> {
  for (let index = 0; index < projects; index += 1) {
    const sourceProjectId = `quiet-${index}`;
    const { id } = await client.createProject({ body: { ...projectAt(firestore, sourceProjectId), sourceProjectId } });
    await client.enablePitr({ params: { projectId: id }, body: { retentionDays: 7 } });
  }
}

/** How many projects each process holds. */
async function shares(catalogue: pg.Client): Promise<number[]> {
  const { rows } = await catalogue.query<{ n: number }>(
    'select count(*)::int as n from pitr_logs where holder is not null group by holder',
  );
  return rows.map(({ n }) => n);
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let waitedMs = 0; !(await isSo()); waitedMs += 100) {
    if (waitedMs > 180_000) throw new Error('what was waited for did not come about');
    await pause(100);
  }
}
