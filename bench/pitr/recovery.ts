import { type Bench, type Figure, figure, median } from '../figure.ts';
import { type PitrService, withPitrService } from './service.ts';

const usual = { documents: 10_000, perSecond: 2_000, seconds: 3, rounds: 12, oldSegments: 1_000 };
const olderTimes = 10;

export const recoveryBench: Bench = {
  name: 'pitr-recovery',
  about: `Point-in-time recovery: an instant soon behind a base of ${(usual.documents + usual.perSecond * usual.seconds).toLocaleString('en-US')} documents is exported whole, and its collections are looked at, in two projects with the same contents: one has ${usual.oldSegments.toLocaleString('en-US')} segments before its base, the other ten times as many; in turns.`,
  run: () => withPitrService((service) => measureRecovery(service)),
};

const ages = ['young', 'old'] as const;
type Age = (typeof ages)[number];

/** The same instant of the same contents, behind a log and behind one that is ten times as old. */
export async function measureRecovery(service: PitrService, work = usual): Promise<Figure[]> {
  const projects = { young: await grow(service, 'young', work), old: await grow(service, 'old', work) };
  await service.world.client.query('analyze pitr_segments');
  const times = { young: { look: [], whole: [] }, old: { look: [], whole: [] } } as Record<
    Age,
    { look: number[]; whole: number[] }
  >;
  for (let round = 0; round <= work.rounds; round += 1) {
    for (const age of round % 2 === 0 ? ages : ages.toReversed()) {
      const { projectId, at } = projects[age];
      const look = await lookMs(service, projectId, at);
      const whole = await exportMs(service, projectId, at);
      // The first round warms up.
      if (round === 0) continue;
      times[age].look.push(look);
      times[age].whole.push(whole);
    }
  }
  return (['whole', 'look'] as const).map((what) => {
    const [oldMs, youngMs] = [median(times.old[what]), median(times.young[what])];
    const details = {
      milliseconds: Math.round(oldMs),
      millisecondsYoung: Math.round(youngMs),
      oldSegments: work.oldSegments * olderTimes,
      rounds: work.rounds,
    };
    const name = what === 'whole' ? 'an instant, exported whole' : 'an instant, its collections';
    return figure(name, 'the same with a tenth of the log', oldMs / youngMs, 1.1, 'lower', details);
  });
}

async function grow(
  service: PitrService,
  age: Age,
  { oldSegments, ...work }: typeof usual,
): Promise<{ projectId: string; at: string }> {
  const { sandbox, client } = service;
  const projectId = await service.addProject(age);
  await sandbox.tell({ do: 'fill', project: age, collection: 'c0', documents: work.documents });
  const write = (prefix: string) =>
    sandbox.tell({ do: 'write-steadily', project: age, collections: 20, ...work, prefix });
  await write('before-');
  await service.enable(projectId);
  await makeBase(client, projectId);
  await write('after-');
  const at = new Date().toISOString();
  await service.untilCovered(projectId, Date.parse(at) + 15_000);
  // What was switched off is not proved again with each look.
  await client.disablePitr({ params: { projectId }, body: {} });
  await growOlder(service, projectId, age === 'old' ? oldSegments * olderTimes : oldSegments);
  return { projectId, at };
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
async function growOlder({ world }: PitrService, projectId: string, segments: number): Promise<void> {
  await world.client.query(
    `insert into pitr_segments (project_id, organization_id, log_id, sequence, key, covered_from, covered_through, changes,
                                deletes, collections, path_hashes, stored_bytes, created_at)
     select l.project_id, l.organization_id, l.log_id, -n, 'none-' || n, '2020-01-01', '2020-01-01', 20, 0, '{"c0": 20}',
            (select array_agg((random() * 4294967295 - 2147483648)::bigint::int) from generate_series(1, 20) where n > 0),
            1000, now()
       from pitr_logs l, generate_series(1, $2::int) n where l.project_id = $1`,
    [projectId, segments],
  );
  await world.client.query(
    `update pitr_logs set started_from = '2020-01-01T00:00:00.000000000Z' where project_id = $1`,
    [projectId],
  );
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
