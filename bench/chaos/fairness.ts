import { createClient } from '@holdfast/contract/client';
import { fillFast } from '@holdfast/sandbox';
import {
  type KindResult,
  kinds,
  prepareRace,
  type Race,
  runRace,
  someAtOnce,
  tinyCollection,
} from './fairness-kinds.ts';
import { putForeignFile } from './foreign-file.ts';
import { bucketAt, createWorld, database, pause, projectAt, type World } from './world.ts';

const projects = 20;
/** Enough for a job to take a moment, and few enough for hundreds of them to end. */
const documents = 2000;
type Backup = Awaited<ReturnType<World['client']['getBackup']>>;

/**
 * One organization queues hundreds of jobs of a kind, another asks for one. It may wait for those that run already, and for none
 * of those that wait.
 */
export async function chaosFairness({ queued }: { queued: number }): Promise<boolean> {
  const world = await createWorld({ documents, workers: 2 });
  try {
    const neighbour = await secondOrganization(world);
    await putForeignFile(world);
    fillFast(world.firestore.control.database(database), { collection: tinyCollection, documents: 1 });
    return await fairnessOfKinds(world, neighbour, queued);
  } finally {
    await world.close();
  }
}

/** Those under way when the neighbour asks, and as many that begin beside its own. */
const endedBeforeMax = 24;

async function fairnessOfKinds(
  world: World,
  neighbour: { client: World['client']; projectId: string; destinationId: string },
  queued: number,
): Promise<boolean> {
  const projectIds = await manyProjects(world);
  const backupIds = await someAtOnce(projectIds.length, (index) => completedBackup(world.client, projectIds[index]!));
  const many = { client: world.client, projectIds, backupIds, destinationIds: [world.destinationId] };
  const one = {
    client: neighbour.client,
    projectIds: [neighbour.projectId],
    backupIds: [await completedBackup(neighbour.client, neighbour.projectId)],
    destinationIds: [neighbour.destinationId],
  };
  const races: Race[] = [];
  for (const kind of kinds) {
    // A backup has one verification at a time, so there are as many as backups.
    const count = kind.name === 'verification' ? backupIds.length : queued;
    races.push(await prepareRace(kind, many, one, count));
  }
  let areFair = true;
  for (const race of races) {
    const result = await runRace(race);
    areFair &&= isFair(result);
    console.log(JSON.stringify({ name: 'chaos fairness', ...result }));
  }
  return areFair;
}

/**
 * What runs long for a reason of its own, as a merge that waits for captured changes to be stored, began in time all the same.
 */
function isFair({ endedBefore, waitedMs, longestMs }: KindResult): boolean {
  return endedBefore <= endedBeforeMax || (waitedMs !== null && waitedMs <= longestMs);
}

async function completedBackup(client: World['client'], projectId: string): Promise<string> {
  const started = await client.createBackup({ body: { projectId } });
  if ('dryRun' in started) throw new Error('a backup was not started');
  const backup = await untilEnded(client, started.id);
  if (backup.status !== 'completed') throw new Error(`the backup ${backup.status}: ${backup.error?.message}`);
  return backup.id;
}

async function secondOrganization({ cluster, session, firestore, s3 }: World) {
  const person = createClient({ baseUrl: cluster.address, token: session.token });
  const { id } = await person.createOrganization({ body: { name: 'Neighbour' } });
  const client = createClient({ baseUrl: cluster.address, token: session.token, organizationId: id });
  const destination = await client.createStorageDestination({ body: bucketAt(s3) });
  const project = await client.createProject({ body: projectAt(firestore, 'Neighbour') });
  return { client, projectId: project.id, destinationId: destination.id };
}

async function manyProjects({ client, projectId, firestore }: World): Promise<string[]> {
  const ids = [projectId];
  while (ids.length < projects)
    ids.push((await client.createProject({ body: projectAt(firestore, `Shop ${ids.length}`) })).id);
  return ids;
}

async function untilEnded(client: World['client'], backupId: string): Promise<Backup> {
  for (;;) {
    const backup = await client.getBackup({ params: { backupId } });
    if (backup.status !== 'pending' && backup.status !== 'running') return backup;
    await pause(50);
  }
}
