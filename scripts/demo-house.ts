import type { FirestoreSandbox } from '@holdfast/sandbox';
import { loadSample } from '@holdfast/sandbox';
import type { OffsetClock } from '@holdfast/server/platform/clock';
import { backUp, type Client, pause, startBackup, until } from './demo-service.ts';

/** The rest of the house: more projects with schedules of their own, one that is refused, and a drill with its report. */
interface House {
  readonly rides: string;
  readonly support: string;
  readonly warehouse: string;
}

const databaseOf = (project: string) => ({ project, database: '(default)' });
const halfDayMs = 12 * 60 * 60 * 1000;
const refusedHalfDays = 5;
const nightly = '30 4 * * *';

/** Projects, and what they are backed up by. */
export async function openHouse(client: Client, firestore: FirestoreSandbox): Promise<House> {
  const connect = async (name: string, project: string, documents: number, cron: string | null) => {
    loadSample(firestore.control.database(databaseOf(project)), { seed: documents, documents, edgeCases: false });
    const { id: projectId } = await client.createProject({
      body: { name, sourceProjectId: project, connection: { type: 'emulator', host: firestore.address } },
    });
    const keep = { retentionPolicy: { daily: 7, weekly: 4, monthly: 12 }, type: 'incremental', fullEvery: 7 } as const;
    if (cron)
      await client.createSchedule({
        body: { projectId, name: cron === nightly ? 'Nightly' : 'Twice a day', cron, ...keep },
      });
    return projectId;
  };
  return {
    rides: await connect('Rides', 'demo-rides', 900, '0 */12 * * *'),
    support: await connect('Support desk', 'demo-support', 400, nightly),
    warehouse: await connect('Warehouse', 'demo-warehouse', 600, '0 */12 * * *'),
  };
}

/** Half a day at a time: people work, schedules fire by themselves, and in the end Google refuses one project. */
export async function liveThrough(
  house: { signIn: () => Promise<Client>; measure: () => Promise<void>; clock: OffsetClock },
  firestore: FirestoreSandbox,
  halfDays: number,
): Promise<void> {
  const { signIn, measure, clock } = house;
  for (let left = halfDays; left > 0; left--) {
    if (left === refusedHalfDays) refuse(firestore);
    for (const project of ['demo-rides', 'demo-support', 'demo-warehouse']) work(firestore, project, left);
    const before = await (await signIn()).listSchedules({ query: { limit: 50 } });
    clock.advance(halfDayMs);
    const client = await signIn();
    for (const { id, nextRunAt } of before.data)
      if (nextRunAt && Date.parse(nextRunAt) <= clock.now().getTime()) await untilRun(client, id, nextRunAt);
    await untilIdle(client);
    await measure();
  }
}

/** What retention merges behind a run ends before the clock goes on: else it would have taken half a day. */
async function untilIdle(client: Client): Promise<void> {
  for (const status of ['pending', 'running'] as const)
    while ((await client.listBackups({ query: { status, limit: 1 } })).data.length > 0) await pause();
}

/** Without days to live through: a backup now, another one after some work, and a refusal. */
export async function createOneOfEverything(client: Client, firestore: FirestoreSandbox, house: House): Promise<void> {
  for (const type of ['full', 'incremental'] as const) {
    for (const id of [house.rides, house.support, house.warehouse]) await backUp(client, id, type);
    for (const project of ['demo-rides', 'demo-support', 'demo-warehouse']) work(firestore, project, 1);
  }
  refuse(firestore);
  await startBackup(client, house.warehouse, 'incremental');
}

/** A backup put back into a scratch database, compared byte by byte, with a signed report. */
export async function drill(client: Client, backupId: string): Promise<void> {
  const { id } = await client.startDrill({ params: { backupId } });
  const find = async () => (await client.listDrills({ params: { backupId } })).data.find((one) => one.id === id);
  await until(id, async () => (await find()) ?? { status: 'pending', error: null });
}

async function untilRun(client: Client, scheduleId: string, dueAt: string): Promise<void> {
  for (;;) {
    const { lastRun } = await client.getSchedule({ params: { scheduleId } });
    if (lastRun && lastRun.dueAt >= dueAt && lastRun.status !== 'triggered') return;
    await pause();
  }
}

function refuse(firestore: FirestoreSandbox): void {
  firestore.control.deny({ project: 'demo-warehouse' });
}

/** Another seed makes other documents: customers and orders that were not there before. */
function work(firestore: FirestoreSandbox, project: string, seed: number): void {
  loadSample(firestore.control.database(databaseOf(project)), { seed: 1000 + seed, documents: 40, edgeCases: false });
}
