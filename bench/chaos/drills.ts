import { fillFast } from '@holdfast/sandbox';
import { createWorld, Killer, pause, type World } from './world.ts';

const target = { project: 'chaos-drill', database: '(default)' };

/**
 * Drills into a named, empty database while workers are killed. Each must end proven, with every document of the backup
 * in the target once, and what somebody else put there meanwhile untouched and told.
 */
export async function chaosDrills(options: { runs: number; documents: number }): Promise<boolean> {
  const world = await createWorld({ documents: options.documents, workers: 2 });
  const killer = new Killer(world.cluster, { least: 500, most: 6000 });
  let wrong = 0;
  try {
    const { client, projectId, firestore } = world;
    const connection = { type: 'emulator' as const, host: firestore.address };
    const body = { name: 'Target', sourceProjectId: target.project, connection, settings: { writeRampUp: false } };
    const { id: targetProjectId } = await client.createProject({ body });
    const { id: backupId } = await client.createBackup({ body: { projectId } });
    await until(() => client.getBackup({ params: { backupId } }));
    for (let run = 1; run <= options.runs; run++) {
      firestore.control.clear(target);
      firestore.control.addFault({ method: 'BatchWrite', latencyMs: 200 });
      const isDisturbed = run % 2 === 0;
      const started = await client.startDrill({ params: { backupId }, body: { targetProjectId } });
      killer.start();
      if (isDisturbed) await disturb(world);
      const drill = await until(async () => {
        const { data } = await client.listDrills({ params: { backupId }, query: { limit: 200 } });
        return data.find(({ id }) => id === started.id)!;
      });
      await killer.stop();
      firestore.control.clearFaults();
      const { report } = drill;
      const told = report?.differences.sample.map(({ path, kind }) => `${kind} ${path}`).join() ?? '';
      const isRight =
        report?.documentsMatched === report?.documentsExpected &&
        drill.passed === !isDisturbed &&
        /^(unexpected strangers\/[^,]+)?$/.test(told) &&
        (told !== '') === isDisturbed;
      if (!isRight) wrong++;
      console.log(
        `run ${run}: ${drill.status}, ${report?.documentsMatched} of ${report?.documentsExpected} equal, told [${told}], ${isRight ? 'right' : `WRONG ${drill.error?.message ?? ''}`}, ${killer.kills} kills so far`,
      );
    }
    console.log(JSON.stringify({ name: 'chaos drills', runs: options.runs, kills: killer.kills, wrong }));
    return wrong === 0;
  } finally {
    await killer.stop();
    await world.close();
  }
}

/** Somebody writes into the target once the drill has begun to. */
async function disturb({ firestore }: World): Promise<void> {
  const there = firestore.control.database(target);
  while (there.documentCount === 0) await pause(20);
  fillFast(there, { collection: 'strangers', documents: 1 });
}

async function until<Job extends { status: string }>(read: () => Promise<Job>): Promise<Job> {
  for (;;) {
    const job = await read();
    if (job.status !== 'pending' && job.status !== 'running') return job;
    await pause(250);
  }
}
