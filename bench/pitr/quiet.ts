import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Figure, figure } from '../figure.ts';
import type { PitrService } from './service.ts';

const usual = { projects: 50, settleSeconds: 30, quietSeconds: 60 };

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
  for (const id of ids) await service.enable(id);
  await sleep(settleSeconds * 1000);
  const mebibytes = (usedBytes() - before) / projects / 1024 / 1024;
  const documentsBefore = await documentsSent(service);
  await sleep(quietSeconds * 1000);
  const documents = (await documentsSent(service)) - documentsBefore;
  const details = { projects, quietSeconds };
  return [
    figure('memory of a quiet project, in MiB', 'none', mebibytes, 2, 'lower', details),
    figure('documents read for quiet projects', 'none', documents, 0, 'lower', details),
  ];
}

function usedBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let turn = 0; turn < 3; turn += 1) collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

async function documentsSent({ sandbox }: PitrService): Promise<number> {
  const { methods } = (await sandbox.tell({ do: 'counters' })) as {
    methods: Record<string, { documents: number }>;
  };
  return ['Listen', 'RunQuery', 'BatchGetDocuments'].reduce((sum, name) => sum + (methods[name]?.documents ?? 0), 0);
}
