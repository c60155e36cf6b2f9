import { createWorld, pause, type World } from './chaos/world.ts';
import { type Bench, figure, median } from './figure.ts';

const documents = 300_000;
const rounds = 3;
const latencyMs = 2;
/** Ranges that a worker reads at a time: what limits it is waiting for the source, as in production. */
const rangesEach = 2;

/** One worker process and two of them, in turns, on the same database, the same Firestore and the same S3. */
export const workersBench: Bench = {
  name: 'workers',
  about: `A backup of ${documents.toLocaleString('en-US')} documents by two worker processes, against one; the source waits ${latencyMs} ms before each batch of messages, so that two cores are not the limit.`,
  async run() {
    const environment = { WORKER_CONCURRENCY: String(rangesEach) };
    const world = await createWorld({ documents, workers: 1, environment });
    try {
      world.firestore.control.addFault({ method: 'RunQuery', batchLatencyMs: latencyMs });
      await backUp(world);
      const [alone, together]: [number[], number[]] = [[], []];
      for (let round = 0; round < rounds; round += 1) {
        alone.push(await backUp(world));
        const second = await world.cluster.startWorker();
        together.push(await backUp(world));
        second.kill('SIGTERM');
        await new Promise((resolve) => second.once('exit', resolve));
      }
      const [one, two] = [median(alone), median(together)];
      const details = { secondsAlone: one / 1000, secondsTogether: two / 1000 };
      return [figure('workers', 'one worker', two / one, 0.65, 'lower', details)];
    } finally {
      await world.close();
    }
  },
};

async function backUp({ client, projectId }: World): Promise<number> {
  const startedAtMs = performance.now();
  const started = await client.createBackup({ body: { projectId } });
  for (;;) {
    const { status, documentCount, error } = await client.getBackup({ params: { backupId: started.id } });
    if (status === 'completed' && documentCount === documents) return performance.now() - startedAtMs;
    if (status !== 'pending' && status !== 'running') throw new Error(`the backup ${status}: ${error?.message}`);
    await pause(20);
  }
}
