import { Callers } from '@holdfast/server/testing/callers';
import { createWorld, pause, type World } from './chaos/world.ts';
import { type Bench, figure } from './figure.ts';
import { percentile } from './webhooks/verdict.ts';

const documents = 300_000;
const rounds = 5;
const idleMs = 3000;
const callers = 8;
const pauseMs = 4;

/** Calls and a backup in one process: how much longer the slowest calls take while it runs. */
export const responsiveBench: Bench = {
  name: 'responsive',
  about: `The slowest hundredth of GET /backups, asked for by ${callers} callers at once, while the same service takes a backup of ${documents.toLocaleString('en-US')} documents, against the same while it does nothing else; in turns.`,
  async run() {
    const world = await createWorld({ documents, workers: 0, roles: 'api,worker,scheduler' });
    const asking = Callers.ofBackups(world.cluster, world.session, { callers, pauseMs });
    try {
      await backUp(world);
      const [idle, busy]: [number[], number[]] = [[], []];
      for (let round = 0; round < rounds; round += 1) {
        await asking.latencies();
        await pause(idleMs);
        idle.push(...(await asking.latencies()));
        await backUp(world);
        busy.push(...(await asking.latencies()));
      }
      const [quiet, loaded] = [percentile(idle, 0.99), percentile(busy, 0.99)];
      const details = {
        'idle p99 ms': Math.round(quiet),
        'p99 ms during a backup': Math.round(loaded),
        calls: idle.length + busy.length,
      };
      return [figure('responsive', 'an idle service', loaded / quiet, 4, 'lower', details)];
    } finally {
      await asking.stop();
      await world.close();
    }
  },
};

async function backUp({ client, projectId }: World): Promise<void> {
  const started = await client.createBackup({ body: { projectId } });
  for (;;) {
    const { status, error } = await client.getBackup({ params: { backupId: started.id } });
    if (status === 'completed') return;
    if (status !== 'pending' && status !== 'running') throw new Error(`the backup ${status}: ${error?.message}`);
    await pause(100);
  }
}
