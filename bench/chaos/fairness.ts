import { createClient } from '@holdfast/contract/client';
import { bucketAt, createWorld, pause, projectAt, type World } from './world.ts';

const projects = 20;
const queued = 500;
const documents = 20_000;
/** Starting a backup, looking at it every so often: what measuring itself may cost. */
const slackMs = 1000;

type Backup = Awaited<ReturnType<World['client']['getBackup']>>;

/**
 * One organization queues hundreds of backups, another asks for one. It may wait for those that run already, and for none
 * of those that wait.
 */
export async function chaosFairness(): Promise<boolean> {
  const world = await createWorld({ documents, workers: 2 });
  try {
    const neighbour = await secondOrganization(world);
    const aloneMs = await backUp(neighbour.client, neighbour.projectId);
    const ids = await manyProjects(world);
    const started = await Promise.all(
      Array.from({ length: queued }, (_, index) =>
        world.client.createBackup({ body: { projectId: ids[index % ids.length]! } }),
      ),
    );
    const running = await world.client.listBackups({ query: { status: 'running', limit: 200 } });
    const besideMs = await backUp(neighbour.client, neighbour.projectId);
    const waiting = await waitingOf(world);
    const ended = await Promise.all(running.data.map(({ id }) => untilEnded(world.client, id)));
    const runningMs = Math.max(0, ...ended.map((backup) => backup.duration ?? 0));
    const held = besideMs - aloneMs <= runningMs + slackMs && waiting > queued / 2;
    console.log(
      JSON.stringify({
        name: 'chaos fairness',
        queued: started.length,
        running: running.data.length,
        waitingAfterwards: waiting,
        aloneMs,
        besideMs,
        longestRunningMs: runningMs,
      }),
    );
    return held;
  } finally {
    await world.close();
  }
}

async function secondOrganization({ cluster, session, firestore, s3 }: World) {
  const person = createClient({ baseUrl: cluster.address, token: session.token });
  const { id } = await person.createOrganization({ body: { name: 'Neighbour' } });
  const client = createClient({ baseUrl: cluster.address, token: session.token, organizationId: id });
  await client.createStorageDestination({ body: bucketAt(s3) });
  const project = await client.createProject({ body: projectAt(firestore, 'Neighbour') });
  return { client, projectId: project.id };
}

async function manyProjects({ client, projectId, firestore }: World): Promise<string[]> {
  const ids = [projectId];
  while (ids.length < projects)
    ids.push((await client.createProject({ body: projectAt(firestore, `Shop ${ids.length}`) })).id);
  return ids;
}

/** How long it takes from the call to the end, in milliseconds. */
async function backUp(client: World['client'], projectId: string): Promise<number> {
  const startedAtMs = performance.now();
  const started = await client.createBackup({ body: { projectId } });
  const backup = await untilEnded(client, started.id);
  if (backup.status !== 'completed') throw new Error(`the backup ${backup.status}: ${backup.error?.message}`);
  return Math.round(performance.now() - startedAtMs);
}

async function untilEnded(client: World['client'], backupId: string): Promise<Backup> {
  for (;;) {
    const backup = await client.getBackup({ params: { backupId } });
    if (backup.status !== 'pending' && backup.status !== 'running') return backup;
    await pause(50);
  }
}

async function waitingOf({ client }: World): Promise<number> {
  let count = 0;
  for await (const _ of client.paginate('listBackups', { query: { status: 'pending', limit: 200 } })) count += 1;
  return count;
}
