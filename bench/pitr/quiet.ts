import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Bench, type Figure, figure } from '../figure.ts';
import { type PitrService, withPitrService } from './service.ts';

const usual = { projects: 200, settleSeconds: 20, quietSeconds: 45 };

export const quietBench: Bench = {
  name: 'pitr-quiet',
  about: `Point-in-time recovery: ${usual.projects} projects in one process in which nothing happens, for ${usual.quietSeconds} seconds.`,
  run: () => withPitrService((service) => measureQuiet(service)),
};

/** Many projects in one process in which nothing happens. */
export async function measureQuiet(
  service: PitrService,
  { projects, settleSeconds, quietSeconds } = usual,
): Promise<Figure[]> {
  const { sandbox } = service;
  const ids: string[] = [];
  for (let index = 0; index < projects; index += 1) {
    await sandbox.tell({ do: 'fill', project: `quiet-${index}`, collection: 'c0', documents: 100 });
    ids.push(await service.addProject(`quiet-${index}`));
  }
  await sleep(5_000);
  const before = usedBytes();
  await service.enable(...ids);
  await sleep(settleSeconds * 1000);
  const mebibytes = (usedBytes() - before) / projects / 1024 / 1024;
  const readsBefore = await readsOf(service);
  const cpuBefore = process.cpuUsage();
  await sleep(quietSeconds * 1000);
  const { documents, looks } = await readsOf(service);
  const { user, system } = process.cpuUsage(cpuBefore);
  const percentOfOneCore = Math.round((user + system) / quietSeconds / 1000) / 10;
  const looksPerProject = Math.round(((looks - readsBefore.looks) / projects) * 100) / 100;
  const details = { projects, quietSeconds, percentOfOneCore, looksPerProject };
  return [
    figure('memory of a quiet project, in MiB', 'none', mebibytes, 2, 'lower', details),
    figure('documents read for quiet projects', 'none', documents - readsBefore.documents, 0, 'lower', details),
  ];
}

function usedBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let turn = 0; turn < 3; turn += 1) collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Everything that is billed, without the looks for new collections and the counts, which are told beside it. */
async function readsOf({ sandbox }: PitrService): Promise<{ documents: number; looks: number }> {
  const { reads, methods } = (await sandbox.tell({ do: 'counters' })) as {
    reads: number;
    methods: Record<string, { calls: number }>;
  };
  const looks = (methods.ListCollectionIds?.calls ?? 0) + (methods.RunAggregationQuery?.calls ?? 0);
  return { documents: reads - looks, looks };
}
