import { createHash } from 'node:crypto';
import { connectFirestore, documentContent, everything, readRecords, wholeDatabase } from '@holdfast/engine';
import { createWorld, database, Killer, pause, type World } from './world.ts';

/**
 * Restores of a wiped database while workers are killed, and every second time the database goes away for longer than
 * anyone is patient: what then fails is resumed. Each must end with the very documents of the backup.
 */
export async function chaosRestores(options: { runs: number; documents: number }): Promise<boolean> {
  const environment = { JOB_ATTEMPTS: '1', SOURCE_RETRY_ATTEMPTS: '2' };
  const world = await createWorld({ documents: options.documents, workers: 2, environment });
  const killer = new Killer(world.cluster, { least: 500, most: 8000 });
  let wrong = 0;
  let resumed = 0;
  try {
    const before = await fingerprint(world);
    const { client, projectId } = world;
    await client.updateProject({ params: { projectId }, body: { settings: { writeRampUp: false } } });
    const started = await client.createBackup({ body: { projectId } });
    const backup = await until(() => client.getBackup({ params: { backupId: started.id } }));
    if (backup.status !== 'completed') throw new Error(`the backup ${backup.status}: ${backup.error?.message}`);
    for (let run = 1; run <= options.runs; run++) {
      world.firestore.control.clear(database);
      killer.start();
      const outage = run % 2 === 0 ? refuseWritesSoon(world) : undefined;
      const { id } = await client.startRestore({ body: { backupId: backup.id, options: { safetyBackup: false } } });
      let restore = await until(() => client.getRestore({ params: { restoreJobId: id } }));
      for (let tries = 0; restore.status !== 'completed' && restore.error?.retryable && tries < 5; tries++) {
        clearTimeout(outage);
        world.firestore.control.clearFaults();
        resumed++;
        await client.resumeRestore({ params: { restoreJobId: id } });
        restore = await until(() => client.getRestore({ params: { restoreJobId: id } }));
      }
      clearTimeout(outage);
      world.firestore.control.clearFaults();
      await killer.stop();
      const isEqual = restore.status === 'completed' && (await fingerprint(world)) === before;
      if (!isEqual) wrong++;
      console.log(
        `run ${run}: ${restore.status}, ${isEqual ? 'equal' : `NOT EQUAL ${restore.error?.message ?? ''}`}, ${restore.duration} s, ${killer.kills} kills so far`,
      );
    }
    console.log(JSON.stringify({ name: 'chaos restores', runs: options.runs, kills: killer.kills, resumed, wrong }));
    return wrong === 0 && (options.runs < 2 || resumed > 0);
  } finally {
    await killer.stop();
    await world.close();
  }
}

function refuseWritesSoon({ firestore }: World): NodeJS.Timeout {
  const refuse = () => firestore.control.addFault({ method: 'BatchWrite', status: 'UNAVAILABLE' });
  return setTimeout(refuse, 500 + Math.random() * 3000);
}

async function until<Job extends { status: string }>(read: () => Promise<Job>): Promise<Job> {
  for (;;) {
    const job = await read();
    if (job.status !== 'pending' && job.status !== 'running') return job;
    await pause(250);
  }
}

/** Names and contents of all documents, in order. */
export async function fingerprint(world: Pick<World, 'firestore'>): Promise<string> {
  const { source, close } = connectFirestore({
    projectId: database.project,
    connection: { type: 'emulator', host: world.firestore.address },
  });
  const hash = createHash('sha256');
  const readTime = await source.snapshotTime();
  for await (const batch of source.scan(everything, { scope: wholeDatabase, readTime })) {
    for (const { path, body } of readRecords(batch, source.database))
      hash.update(path).update('\0').update(documentContent(body));
  }
  await close();
  return hash.digest('hex');
}
