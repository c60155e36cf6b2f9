import { createHash } from 'node:crypto';
import { connectFirestore, documentContent, everything, readRecords, wholeDatabase } from '@holdfast/engine';
import { fillFast } from '@holdfast/sandbox';
import { createWorld, database, Killer, pause, type World } from './world.ts';

const resumesMax = 8;
const rangesAbout = 12;

/**
 * Restores over a database that holds something else, while workers are killed, and each of them undone in the end. By turns
 * the restore is left alone; the database goes away for longer than anyone is patient, and what then fails is resumed; or
 * somebody gives up in the middle. A restore must end with the very documents of the backup, an undo with those before it.
 */
export async function chaosRestores(options: { runs: number; documents: number }): Promise<boolean> {
  const environment = {
    JOB_ATTEMPTS: '1',
    SOURCE_RETRY_ATTEMPTS: '2',
    RESTORE_RANGE_DOCUMENTS: String(Math.ceil(options.documents / rangesAbout)),
  };
  const world = await createWorld({ documents: options.documents, workers: 2, environment });
  const killer = new Killer(world.cluster, { least: 500, most: 8000 });
  const counts = { wrong: 0, resumed: 0, cancelled: 0 };
  try {
    const wanted = await fingerprint(world);
    const { client, projectId } = world;
    await client.updateProject({ params: { projectId }, body: { settings: { writeRampUp: false } } });
    const started = await client.createBackup({ body: { projectId } });
    const backup = await until(() => client.getBackup({ params: { backupId: started.id } }));
    if (backup.status !== 'completed') throw new Error(`the backup ${backup.status}: ${backup.error?.message}`);
    for (let run = 1; run <= options.runs; run++) {
      fillOtherwise(world, options.documents, run);
      const former = await fingerprint(world);
      killer.start();
      const isGivenUp = run % 3 === 0;
      const outage = run % 3 === 2 ? refuseWritesSoon(world) : undefined;
      const { id } = await client.startRestore({ body: { backupId: backup.id, options: { deleteExtra: true } } });
      const restore = isGivenUp ? await giveUp(world, id) : await untilCompleted(world, id, counts, outage);
      if (restore.status === 'cancelled') counts.cancelled++;
      const isRestored = isGivenUp || (restore.status === 'completed' && (await fingerprint(world)) === wanted);
      const undo = await client.undoRestore({ params: { restoreJobId: id }, body: {} });
      const undone = await untilCompleted(world, undo.id, counts);
      await killer.stop();
      const isUndone = undone.status === 'completed' && (await fingerprint(world)) === former;
      if (!isRestored || !isUndone) counts.wrong++;
      console.log(
        `run ${run}: ${restore.status} with ${restore.documentsRestored} documents, ${isRestored ? 'as promised' : `NOT EQUAL ${restore.error?.message ?? ''}`}; undone: ${isUndone ? 'equal' : `NOT EQUAL ${undone.status} ${undone.error?.message ?? ''}`}, ${undone.conflicts} conflicts; ${killer.kills} kills so far`,
      );
    }
    const { kills } = killer;
    console.log(JSON.stringify({ name: 'chaos restores', runs: options.runs, kills, ...counts }));
    return counts.wrong === 0 && (options.runs < 2 || counts.resumed > 0);
  } finally {
    await killer.stop();
    await world.close();
  }
}

/** Half of the documents are others than the backup's, and some are in no backup. */
function fillOtherwise({ firestore }: World, documents: number, seed: number): void {
  firestore.control.clear(database);
  const there = firestore.control.database(database);
  fillFast(there, { collection: 'items', documents: Math.ceil(documents / 2), seed: seed + 100 });
  fillFast(there, { collection: 'extra', documents: Math.ceil(documents / 10), seed });
}

/** To the end, resumed as often as it takes. */
async function untilCompleted(world: World, id: string, counts: { resumed: number }, outage?: NodeJS.Timeout) {
  const { client, firestore } = world;
  const read = () => client.getRestore({ params: { restoreJobId: id } });
  let restore = await until(read);
  for (let tries = 0; restore.status !== 'completed' && restore.error?.retryable && tries < resumesMax; tries++) {
    clearTimeout(outage);
    firestore.control.clearFaults();
    counts.resumed++;
    await client.resumeRestore({ params: { restoreJobId: id } });
    restore = await until(read);
  }
  clearTimeout(outage);
  firestore.control.clearFaults();
  return restore;
}

/** Cancelled while it writes, by whoever holds it at that moment, or while nobody does. */
async function giveUp({ client }: World, id: string) {
  const read = () => client.getRestore({ params: { restoreJobId: id } });
  for (;;) {
    const { documentsRestored, status } = await read();
    if (documentsRestored > 0 || (status !== 'pending' && status !== 'running')) break;
    await pause(100);
  }
  await pause(Math.random() * 3000);
  await client.cancelRestore({ params: { restoreJobId: id } }).catch(() => undefined);
  return until(read);
}

function refuseWritesSoon({ firestore }: World): NodeJS.Timeout {
  const refuse = () => firestore.control.addFault({ method: 'BatchWrite', status: 'UNAVAILABLE', afterEffect: true });
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
