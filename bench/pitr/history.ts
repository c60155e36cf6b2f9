import { setTimeout as sleep } from 'node:timers/promises';
import { type Bench, type Figure, figure } from '../figure.ts';
import { type PitrService, withPitrService } from './service.ts';

/** A week has a segment every ten seconds. */
const usual = { documents: 1_000_000, segments: 60_480, pathsPerSegment: 50 };

export const historyBench: Bench = {
  name: 'pitr-history',
  about: `Point-in-time recovery: the history of one document among ${usual.documents.toLocaleString('en-US')}, behind the catalogue of a week with a segment every ten seconds.`,
  run: () => withPitrService((service) => measureHistory(service)),
};

/** One document among a million, changed once, behind a catalogue of a week in which something happened all the time. */
export async function measureHistory(
  service: PitrService,
  { documents, segments, pathsPerSegment } = usual,
): Promise<Figure[]> {
  const { sandbox, client, world, s3 } = service;
  const project = 'history';
  await sandbox.tell({ do: 'fill', project, collection: 'orders', documents });
  const projectId = await service.addProject(project);
  await service.enable(projectId);
  await sandbox.tell({ do: 'change', project, collection: 'orders', every: documents });
  const at = new Date().toISOString();
  await service.untilCovered(projectId, Date.parse(at));
  await client.disablePitr({ params: { projectId }, body: {} });
  await world.client.query(
    `insert into pitr_segments (project_id, organization_id, log_id, sequence, key, covered_from, covered_through, changes,
                                deletes, collections, path_hashes, stored_bytes, created_at)
     select l.project_id, l.organization_id, l.log_id, -n, 'none-' || n, '2020-01-01', '2020-01-01', $3, 0, '{}',
            (select array_agg((random() * 4294967295 - 2147483648)::bigint::int) from generate_series(1, $3::int) where n > 0), 1000, now()
       from pitr_logs l, generate_series(1, $2::int) n where l.project_id = $1`,
    [projectId, segments, pathsPerSegment],
  );
  await world.client.query('analyze pitr_segments');
  const params = { projectId };
  const { data } = await client.viewPitrDocuments({ params, query: { at, collection: 'orders', limit: 1 } });
  await sleep(1000);
  s3.faults.clear();
  const startedMs = performance.now();
  const history = await client.listDocumentHistory({ params, query: { document: data[0]!.path, limit: 50 } });
  const milliseconds = Math.round(performance.now() - startedMs);
  const { requests } = s3.faults.counts;
  const versions = history.data.length;
  const details = { documents, segments, versions, milliseconds };
  return [figure('history of one document', 'object reads', requests, 4, 'lower', details, versions === 2)];
}
