import { expect, test } from 'vitest';
import { type BackupCluster, ended, startBackupCluster } from '../../testing/backup-cluster.ts';
import { Callers } from '../../testing/callers.ts';

async function backUp(bench: BackupCluster, documents: number): Promise<number> {
  const startedAtMs = performance.now();
  const backup = await bench.untilBackup(await bench.start(), ended);
  expect(backup).toMatchObject({ status: 'completed', documentCount: documents, error: null });
  return performance.now() - startedAtMs;
}

/** Short and on a machine that is busy with other tests; `npm run bench -- workers` is the long version. */
test('two workers share the ranges of a backup and need little more than half of the time of one', async () => {
  const documents = 80_000;
  const bench = await startBackupCluster({ documents, environment: { WORKER_CONCURRENCY: '1' } });
  try {
    // Waiting is what a worker does most here, so that the number of cores does not matter.
    bench.firestore.control.addFault({ method: 'RunQuery', batchLatencyMs: 3 });
    await bench.cluster.startWorker();
    const alone = await backUp(bench, documents);
    await bench.cluster.startWorker();
    const together = await backUp(bench, documents);
    expect(together / alone).toBeLessThan(0.65);
  } finally {
    await bench.close();
  }
}, 180_000);

/** As above; the long version is `npm run bench -- responsive`. */
test('calls are answered while the same process takes a backup', async () => {
  const documents = 100_000;
  const bench = await startBackupCluster({ documents, roles: 'api,worker,scheduler' });
  const asking = Callers.ofBackups(bench.cluster, bench.session, { callers: 8, pauseMs: 4 });
  try {
    await backUp(bench, documents);
    await asking.latencies();
    await new Promise((resolve) => setTimeout(resolve, 2000));
    const idle = slowestHundredth(await asking.latencies());
    await backUp(bench, documents);
    const busy = slowestHundredth(await asking.latencies());
    expect(busy).toBeLessThan(Math.max(5 * idle, answeredAtOnceMs));
  } finally {
    await asking.stop();
    await bench.close();
  }
}, 180_000);

/** On a machine that does nothing else five times the slowest idle answer may be less than one turn of the collector. */
const answeredAtOnceMs = 150;

function slowestHundredth(latencies: readonly number[]): number {
  return latencies.toSorted((left, right) => left - right)[Math.floor(latencies.length * 0.99)]!;
}
