import { type Bench, type Figure, figure } from '../figure.ts';
import { type PitrService, withPitrService } from './service.ts';

const perSecondTarget = 5_000;
const lagSecondsTarget = 3;
const steadily = { perSecond: 6_000, seconds: 20, collections: 20 };

export const captureBench: Bench = {
  name: 'pitr-capture',
  about: `Point-in-time recovery, the whole service in one process: ${steadily.perSecond.toLocaleString('en-US')} writes a second for ${steadily.seconds} seconds over ${steadily.collections} collections, each a commit of its own. The lag is that of the unluckiest commit, until it is stored and catalogued.`,
  run: () => withPitrService((service) => measureCapture(service)),
};

/** A database that is written to all the time. Each write is a commit of its own, of a document of its own. */
export async function measureCapture(service: PitrService, writes = steadily): Promise<Figure[]> {
  const { sandbox, world } = service;
  const project = 'busy';
  const projectId = await service.addProject(project);
  await sandbox.tell({ do: 'fill', project, collection: 'c0', documents: 1000 });
  await service.enable(projectId);
  await sandbox.tell({ do: 'write-steadily', project, ...writes, seconds: 3, prefix: 'warm-' });
  await service.untilCovered(projectId, Date.now());
  const startedAt = new Date();
  const cpuBefore = process.cpuUsage();
  const { written } = (await sandbox.tell({ do: 'write-steadily', project, ...writes, prefix: 'doc-' })) as {
    written: number;
  };
  const seconds = (Date.now() - startedAt.getTime()) / 1000;
  await service.untilCovered(projectId, Date.now());
  const { user, system } = process.cpuUsage(cpuBefore);
  const { rows } = await world.client.query<{ changes: number; lag: number; gaps: number }>(
    `select coalesce(sum(changes), 0)::int as changes, count(gap)::int as gaps,
            max(extract(epoch from created_at - greatest(covered_from::timestamptz, $2)))::float8 as lag
       from pitr_segments where project_id = $1 and covered_through::timestamptz > $2`,
    [projectId, startedAt],
  );
  const { changes, lag, gaps } = rows[0]!;
  const cpuSeconds = (user + system) / 1e6;
  const isWhole = changes === written && gaps === 0;
  const details = {
    changes,
    written,
    gaps,
    writtenPerSecond: Math.round(written / seconds),
    processorSeconds: Math.round(cpuSeconds * 10) / 10,
  };
  return [
    figure(
      'changes captured per second of one core',
      `${perSecondTarget}`,
      changes / cpuSeconds / perSecondTarget,
      1,
      'higher',
      details,
      isWhole && written / seconds >= perSecondTarget,
    ),
    figure('worst lag until durable, in seconds', 'the commits', lag, lagSecondsTarget, 'lower', details, isWhole),
  ];
}
