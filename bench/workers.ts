import { createWorld, pause, type World } from './chaos/world.ts';
import { type Bench, figure, median } from './figure.ts';

const documents = 300_000;
const rounds = 3;
const latencyMs = 2;
const writeLatencyMs = 800;
/** Ranges that a worker reads at a time: what limits it is waiting for the source, as in production. */
const rangesEach = 2;

/** One worker process and two of them, in turns, on the same database, the same Firestore and the same S3. */
export const workersBench: Bench = {
  name: 'workers',
  about: `A backup and a restore of ${documents.toLocaleString('en-US')} documents by two worker processes, against one; the source waits ${latencyMs} ms before each batch of messages, and ${writeLatencyMs} ms before each batch of writes, so that two cores are not the limit.`,
  async run() {
    const environment = { WORKER_CONCURRENCY: String(rangesEach) };
    const world = await createWorld({ documents, workers: 1, environment });
    const { client, projectId, firestore } = world;
    try {
      firestore.control.addFault({ method: 'RunQuery', batchLatencyMs: latencyMs });
      firestore.control.addFault({ method: 'BatchWrite', latencyMs: writeLatencyMs });
      await client.updateProject({ params: { projectId }, body: { settings: { writeRampUp: false } } });
      const { backupId } = await backUp(world);
      const backups = await compare(world, async () => (await backUp(world)).tookMs);
      const restores = await compare(world, () => restore(world, backupId));
      return [
        figure('workers', 'one worker', backups.ratio, 0.65, 'lower', backups.details),
        figure('workers, restore', 'one worker', restores.ratio, 0.65, 'lower', restores.details),
      ];
    } finally {
      await world.close();
    }
  },
};

async function compare({ cluster }: World, work: () => Promise<number>) {
  const [alone, together]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    alone.push(await work());
    const second = await cluster.startWorker();
    together.push(await work());
    second.kill('SIGTERM');
    await new Promise((resolve) => second.once('exit', resolve));
  }
  const [one, two] = [median(alone), median(together)];
  return { ratio: two / one, details: { secondsAlone: one / 1000, secondsTogether: two / 1000 } };
}

async function backUp({ client, projectId }: World): Promise<{ backupId: string; tookMs: number }> {
  const startedAtMs = performance.now();
  const { id: backupId } = await client.createBackup({ body: { projectId } });
  for (;;) {
    const { status, documentCount, error } = await client.getBackup({ params: { backupId } });
    if (status === 'completed' && documentCount === documents)
      return { backupId, tookMs: performance.now() - startedAtMs };
    if (status !== 'pending' && status !== 'running') throw new Error(`the backup ${status}: ${error?.message}`);
    await pause(20);
  }
}

/** From the request to the end: what one worker does alone, reading the backup once to find it whole, is in it. */
async function restore({ client }: World, backupId: string): Promise<number> {
  const startedAtMs = performance.now();
  const { id } = await client.startRestore({ body: { backupId, options: { safetyBackup: false } } });
  for (;;) {
    const { status, documentsRestored, error } = await client.getRestore({ params: { restoreJobId: id } });
    if (status === 'completed' && documentsRestored === documents) return performance.now() - startedAtMs;
    if (status !== 'pending' && status !== 'running') throw new Error(`the restore ${status}: ${error?.message}`);
    await pause(20);
  }
}
