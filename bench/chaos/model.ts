import { startFirestoreSandbox } from '@holdfast/sandbox';
import { momentCounts, runMomentsModel } from '@holdfast/server/testing/model/moments';
import { type Broken, runModel } from '@holdfast/server/testing/model/run-model';
import { startModelService } from '@holdfast/server/testing/model/world';
import { startTemplateDatabase } from '@holdfast/server/testing/template-database';
import { foreignNamed } from '../../packages/engine/testing/foreign-firestore.ts';

const brokenMax = 20;

export interface ModelOptions {
  runs: number;
  seed: number;
  /** One that others wrote, which cannot be made to misbehave. */
  foreign: string | undefined;
}

/** Random histories of everything people can do, in any order, held against a model. */
export async function chaosModel({ runs, seed, foreign }: ModelOptions): Promise<boolean> {
  const template = await startTemplateDatabase();
  const firestore = foreign === undefined ? await sandboxed() : await foreignNamed(foreign).start();
  const service = await startModelService(firestore, { templateUrl: template.url });
  try {
    const broken = await runModel(service, { runs, seed, brokenMax, onRun: show });
    console.log(JSON.stringify({ name: 'chaos model', runs, seed, foreign, broken: broken.length }));
    return broken.length === 0;
  } finally {
    await service.close();
    await firestore.stop();
    await template.stop();
  }
}

/** The same for point-in-time recovery, with a log that is stored often and a Listen that promises what production does. */
export async function chaosMoments({ runs, seed, foreign }: ModelOptions): Promise<boolean> {
  const template = await startTemplateDatabase();
  const firestore =
    foreign === undefined
      ? await sandboxed({ listenMode: 'as-production', listenHeartbeatMs: 50 })
      : await foreignNamed(foreign).start();
  const environment = { PITR_SEGMENT_SECONDS: '0.1' };
  const service = await startModelService(firestore, { templateUrl: template.url }, environment);
  try {
    const broken = await runMomentsModel(service, { runs, seed, brokenMax, onRun: show });
    console.log(JSON.stringify({ name: 'chaos moments', runs, seed, foreign, ...momentCounts, broken: broken.length }));
    return broken.length === 0;
  } finally {
    await service.close();
    await firestore.stop();
    await template.stop();
  }
}

async function sandboxed(options?: Parameters<typeof startFirestoreSandbox>[0]) {
  const sandbox = await startFirestoreSandbox(options);
  return { address: sandbox.address, sandbox, stop: () => sandbox.stop() };
}

let told = 0;

function show(run: number, broken: readonly Broken[]): void {
  for (const { seed, steps, fault } of broken.slice(told))
    console.log(`seed ${seed}:\n${steps.map((step) => `  ${JSON.stringify(step)}`).join('\n')}\n${fault}`);
  told = broken.length;
  if (run % 10 === 0) console.log(`${run} runs, ${broken.length} broken`);
}
