import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { FirestoreFaultRule } from '@holdfast/sandbox';
import { pause } from '../world.ts';
import { pick } from './shop.ts';
import type { StormWorld } from './world.ts';

type Trouble = (world: StormWorld, lasts: () => Promise<void>) => Promise<void>;

const readMethods = ['RunQuery', 'PartitionQuery', 'RunAggregationQuery', 'BatchGetDocuments', 'ListCollectionIds'];
const writeMethods = ['BatchWrite', 'Commit'];

/** What can happen to a service, each by its name; those that last are over when `lasts` is. */
export const troubles: Readonly<Record<string, Trouble>> = {
  'a worker is killed': (world) => killWorker(world, 'SIGKILL'),
  'a worker is told to end': (world) => killWorker(world, 'SIGTERM'),
  'a scheduler is killed': killScheduler,
  'the API is killed': (world) => startAgain(() => world.restartApi()),
  'PostgreSQL crashes': (world) => world.restartPostgres(true),
  'PostgreSQL is restarted': (world) => world.restartPostgres(false),
  'connections to PostgreSQL are cut': async ({ links }) => links.postgres.cut(),
  'PostgreSQL cannot be reached': ({ links }, lasts) => whileDown(links.postgres, lasts),
  'the way to PostgreSQL is slow': ({ links }, lasts) => whileSlow(links.postgres, 15, lasts),
  'storage cannot be reached': ({ links }, lasts) => whileDown(links.s3, lasts),
  'the way to storage is slow': ({ links }, lasts) => whileSlow(links.s3, 150, lasts),
  'storage answers with errors': (world, lasts) => whileStorage(world, { errorRate: 0.3, throttleRate: 0.3 }, lasts),
  'storage loses answers': (world, lasts) => whileStorage(world, { lostAckRate: 0.4 }, lasts),
  'storage damages bytes': (world, lasts) =>
    whileStorage(world, { truncateRate: 0.2, corruptReadRate: 0.2, corruptWriteRate: 0.2 }, lasts),
  'the disk is full': fillDisk,
  'Firestore cannot be reached': ({ links }, lasts) => whileDown(links.source, lasts),
  'the way to Firestore is slow': ({ links }, lasts) => whileSlow(links.source, 60, lasts),
  'Firestore is overloaded': (world, lasts) =>
    whileSource(
      world,
      { status: pick(['UNAVAILABLE', 'RESOURCE_EXHAUSTED', 'DEADLINE_EXCEEDED']), probability: 0.4 },
      lasts,
    ),
  'streams of Firestore break': (world, lasts) => whileSource(world, { breakAfterDocuments: 20, reset: true }, lasts),
  'writes are refused': ({ target }, lasts) =>
    whileWrites(target.control, { status: 'ABORTED', probability: 0.5 }, lasts),
  'answers to writes are lost': ({ target }, lasts) =>
    whileWrites(target.control, { status: 'UNAVAILABLE', afterEffect: true, probability: 0.5 }, lasts),
  'the target cannot be reached': ({ links }, lasts) => whileDown(links.target, lasts),
};

/** Everything works again. */
export function liftAll({ links, source, target, s3 }: StormWorld): void {
  for (const link of Object.values(links)) link.mend();
  s3.faults.clear();
  source.control.clearFaults();
  target.control.clearFaults();
}

async function killWorker({ cluster }: StormWorld, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  pick(cluster.workers)?.kill(signal);
  await startAgain(() => cluster.startWorker());
}

async function killScheduler({ cluster, schedulers }: StormWorld): Promise<void> {
  const index = Math.floor(Math.random() * schedulers.length);
  schedulers[index]!.kill('SIGKILL');
  await startAgain(async () => {
    schedulers[index] = await cluster.startRole('scheduler');
  });
}

/** Whoever runs a service starts it again when it could not start, for example for want of its database. */
export async function startAgain(start: () => Promise<unknown>): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      return void (await start());
    } catch (error) {
      if (tries === 60) throw error;
      await pause(1000);
    }
  }
}

async function whileDown(link: StormWorld['links']['s3'], lasts: () => Promise<void>): Promise<void> {
  link.breakDown();
  await lasts();
  link.mend();
}

async function whileSlow(link: StormWorld['links']['s3'], delayMs: number, lasts: () => Promise<void>): Promise<void> {
  link.slowDown(delayMs);
  await lasts();
  link.mend();
}

async function whileStorage(
  { s3 }: StormWorld,
  profile: Parameters<StormWorld['s3']['faults']['set']>[0],
  lasts: () => Promise<void>,
): Promise<void> {
  s3.faults.set({ ...profile, seed: Math.floor(Math.random() * 1e9) });
  await lasts();
  s3.faults.clear();
}

async function whileSource(
  { source }: StormWorld,
  rule: FirestoreFaultRule,
  lasts: () => Promise<void>,
): Promise<void> {
  for (const method of readMethods) source.control.addFault({ method, ...rule });
  await lasts();
  source.control.clearFaults();
}

async function whileWrites(
  control: StormWorld['target']['control'],
  rule: FirestoreFaultRule,
  lasts: () => Promise<void>,
): Promise<void> {
  for (const method of writeMethods) control.addFault({ method, ...rule });
  await lasts();
  control.clearFaults();
}

const pieceBytes = 1 << 20;

/** Somebody else's file takes all the room there is. */
async function fillDisk(world: StormWorld, lasts: () => Promise<void>): Promise<void> {
  if (!world.isDiskSmall) return;
  const path = join(world.dataFolder, 'somebody-elses-file');
  const file = await open(path, 'w');
  try {
    for (;;) await file.write(Buffer.alloc(pieceBytes));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    await lasts();
  } finally {
    await file.close();
    await rm(path);
  }
}
