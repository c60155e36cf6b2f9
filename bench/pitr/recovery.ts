import { type Figure, figure, median } from '../figure.ts';
import type { PitrService } from './service.ts';

const rounds = 15;
const olderTimes = 10;

/** An instant soon after a base, with a log before it, and with one before it that is ten times as old. */
export async function measureRecovery(service: PitrService, projectId: string, project: string): Promise<Figure[]> {
  const { sandbox, client, world } = service;
  const started = await client.createBackup({ body: { projectId, type: 'full' } });
  if ('dryRun' in started) throw new Error('a backup was not started');
  for (let status = 'pending'; status !== 'completed'; ) {
    status = (await client.getBackup({ params: { backupId: started.id } })).status;
    if (status === 'failed') throw new Error('the base failed');
  }
  await sandbox.tell({ do: 'write-steadily', project, perSecond: 1000, seconds: 5, collections: 20, prefix: 'after-' });
  const at = new Date().toISOString();
  await service.untilCovered(projectId, Date.parse(at) + 15_000);
  const youngMs = await lookMs(service, projectId, at);
  const { rowCount } = await world.client.query(
    `insert into pitr_segments (project_id, organization_id, log_id, sequence, key, covered_from, covered_through, changes,
                                deletes, collections, path_hashes, stored_bytes, created_at)
     select s.project_id, s.organization_id, s.log_id, -n * 100000 - s.sequence - 1, s.key || '-old-' || n,
            '2020-' || substr(s.covered_from, 6), '2020-' || substr(s.covered_through, 6), s.changes, s.deletes,
            s.collections, s.path_hashes, s.stored_bytes, s.created_at
       from pitr_segments s, generate_series(1, $2::int) n where s.project_id = $1`,
    [projectId, olderTimes - 1],
  );
  await world.client.query(
    `update pitr_logs set started_from = '2020-01-01T00:00:00.000000000Z' where project_id = $1`,
    [projectId],
  );
  await world.client.query('analyze pitr_segments');
  const oldMs = await lookMs(service, projectId, at);
  const details = { milliseconds: Math.round(oldMs), millisecondsYoung: Math.round(youngMs), segmentsAdded: rowCount! };
  return [figure('recovery of an instant', 'the same with a tenth of the log', oldMs / youngMs, 1.1, 'lower', details)];
}

async function lookMs({ client }: PitrService, projectId: string, at: string): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < rounds + 3; round += 1) {
    const startedMs = performance.now();
    await client.viewPitrCollections({ params: { projectId }, query: { at, limit: 200 } });
    if (round >= 3) times.push(performance.now() - startedMs);
  }
  return median(times);
}
