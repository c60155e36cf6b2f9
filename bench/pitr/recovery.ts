import { type Bench, type Figure, figure, median } from '../figure.ts';
import { type PitrService, withPitrService } from './service.ts';

const olderTimes = 10;
const usual = { documents: 10_000, perSecond: 2_000, seconds: 3, turns: 4, rounds: 5 };

export const recoveryBench: Bench = {
  name: 'pitr-recovery',
  about: `Point-in-time recovery: all of an instant soon behind a base of ${usual.documents.toLocaleString('en-US')} documents is exported, and its collections are looked at, with a log ten times as old and without; in turns.`,
  run: () => withPitrService((service) => measureRecovery(service)),
};

/** An instant soon after a base, with a log before it, and with one before it that is ten times as old. */
export async function measureRecovery(service: PitrService, work = usual): Promise<Figure[]> {
  const { sandbox, client, world } = service;
  const project = 'recovered';
  const projectId = await service.addProject(project);
  await sandbox.tell({ do: 'fill', project, collection: 'c0', documents: work.documents });
  await service.enable(projectId);
  const write = (prefix: string) => sandbox.tell({ do: 'write-steadily', project, collections: 20, ...work, prefix });
  await write('before-');
  await service.untilCovered(projectId, Date.now());
  await makeBase(client, projectId);
  await write('after-');
  const at = new Date().toISOString();
  await service.untilCovered(projectId, Date.parse(at) + 15_000);
  // What was switched off is not proved again with each look.
  await client.disablePitr({ params: { projectId }, body: {} });
  await world.client.query(
    `update pitr_logs set started_from = '2020-01-01T00:00:00.000000000Z' where project_id = $1`,
    [projectId],
  );
  const times = {
    look: { old: [] as number[], young: [] as number[] },
    whole: { old: [] as number[], young: [] as number[] },
  };
  let segmentsAdded = 0;
  for (let turn = 0; turn < work.turns; turn += 1) {
    const age = turn % 2 === 0 ? 'young' : 'old';
    if (age === 'old') segmentsAdded = await growOlder(service, projectId);
    for (let round = 0; round <= work.rounds; round += 1) {
      const look = await lookMs(service, projectId, at);
      const whole = await exportMs(service, projectId, at);
      // The first of a turn warms up.
      if (round === 0) continue;
      times.look[age].push(look);
      times.whole[age].push(whole);
    }
    await world.client.query(`delete from pitr_segments where project_id = $1 and sequence < 0`, [projectId]);
  }
  return (['whole', 'look'] as const).map((what) => {
    const [oldMs, youngMs] = [median(times[what].old), median(times[what].young)];
    const details = { milliseconds: Math.round(oldMs), millisecondsYoung: Math.round(youngMs), segmentsAdded };
    const name = what === 'whole' ? 'an instant, exported whole' : 'an instant, its collections';
    return figure(name, 'the same with a tenth of the log', oldMs / youngMs, 1.1, 'lower', details);
  });
}

async function makeBase(client: PitrService['client'], projectId: string): Promise<void> {
  const started = await client.createBackup({ body: { projectId, type: 'full' } });
  if ('dryRun' in started) throw new Error('a backup was not started');
  for (let status = 'pending'; status !== 'completed'; ) {
    status = (await client.getBackup({ params: { backupId: started.id } })).status;
    if (status === 'failed') throw new Error('the base failed');
  }
}

/** Segments whose objects do not exist: reading one of them would fail. */
async function growOlder({ world }: PitrService, projectId: string): Promise<number> {
  const { rowCount } = await world.client.query(
    `insert into pitr_segments (project_id, organization_id, log_id, sequence, key, covered_from, covered_through, changes,
                                deletes, collections, path_hashes, stored_bytes, created_at)
     select s.project_id, s.organization_id, s.log_id, -n * 100000 - s.sequence - 1, s.key || '-old-' || n,
            '2020-' || substr(s.covered_from, 6), '2020-' || substr(s.covered_through, 6), s.changes, s.deletes,
            s.collections, s.path_hashes, s.stored_bytes, s.created_at
       from pitr_segments s, generate_series(1, $2::int) n where s.project_id = $1`,
    [projectId, olderTimes - 1],
  );
  await world.client.query('analyze pitr_segments');
  return rowCount!;
}

async function lookMs({ client }: PitrService, projectId: string, at: string): Promise<number> {
  const startedMs = performance.now();
  await client.viewPitrCollections({ params: { projectId }, query: { at, limit: 200 } });
  return performance.now() - startedMs;
}

async function exportMs({ client }: PitrService, projectId: string, at: string): Promise<number> {
  const startedMs = performance.now();
  const stream = await client.exportPitr({ params: { projectId }, query: { at } });
  for await (const _piece of stream.text());
  return performance.now() - startedMs;
}
