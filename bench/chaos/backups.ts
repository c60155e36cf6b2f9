import { createWorld, Killer, pause, type World } from './world.ts';

/**
 * Backups while workers are killed at random moments. Every run must end completed and verified, or failed with a clear
 * error; nothing may stay running; after the sweep no object may lie around; no document may be missing or doubled.
 */
export async function chaosBackups(options: { runs: number; documents: number }): Promise<boolean> {
  const world = await createWorld({ documents: options.documents, workers: 2 });
  const killer = new Killer(world.cluster, { least: 200, most: 2500 });
  const tally = { completed: 0, failed: 0, wrong: 0 };
  try {
    for (let run = 1; run <= options.runs; run++) {
      killer.start();
      const backup = await oneBackup(world);
      await killer.stop();
      const verdict =
        backup.status === 'completed'
          ? await verify(world, backup.id, options.documents)
          : backup.error?.code
            ? 'failed clearly'
            : 'failed without a reason';
      if (verdict === 'good') tally.completed++;
      else if (verdict === 'failed clearly') tally.failed++;
      else tally.wrong++;
      console.log(
        `run ${run}: ${backup.status}, ${verdict}, ${((backup.duration ?? 0) / 1000).toFixed(1)} s, ${killer.kills} kills so far`,
      );
    }
    const stuck = await world.client.listBackups({ query: { status: 'running' } });
    const orphans = await sweep(world);
    console.log(
      JSON.stringify({
        name: 'chaos backups',
        runs: options.runs,
        kills: killer.kills,
        ...tally,
        stuck: stuck.data.length,
        orphansAfterSweep: orphans,
      }),
    );
    return tally.wrong === 0 && stuck.data.length === 0 && orphans === 0;
  } finally {
    await killer.stop();
    await world.close();
  }
}

async function oneBackup({ client, projectId, destinationId }: World) {
  const started = await client.createBackup({ body: { projectId, storageDestinationId: destinationId } });
  for (;;) {
    const backup = await client.getBackup({ params: { backupId: started.id } });
    if (backup.status !== 'pending' && backup.status !== 'running') return backup;
    await pause(250);
  }
}

/** Every segment opened and hashed by the service, and the count compared with what the database holds. */
async function verify({ client }: World, backupId: string, documents: number): Promise<string> {
  await client.verifyBackup({ params: { backupId } });
  for (;;) {
    const { verification, documentCount } = await client.getBackup({ params: { backupId } });
    if (verification?.status === 'failed') return `damaged: ${verification.errors[0]}`;
    if (verification?.status === 'passed')
      return documentCount === documents && verification.documents === documents
        ? 'good'
        : `${documentCount} documents instead of ${documents}`;
    await pause(250);
  }
}

async function sweep({ client, destinationId }: World): Promise<number> {
  const task = await client.sweepStorageDestination({ params: { storageDestinationId: destinationId } });
  for (;;) {
    const { status } = await client.getStorageTask({
      params: { storageDestinationId: destinationId, taskId: task.id },
    });
    if (status === 'completed' || status === 'failed') break;
    await pause(250);
  }
  const left = await client.listOrphans({ params: { storageDestinationId: destinationId }, query: {} });
  return left.data.length;
}
