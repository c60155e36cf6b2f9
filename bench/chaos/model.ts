import { startFirestoreSandbox } from '@holdfast/sandbox';
import { momentCounts, runMomentsModel } from '@holdfast/server/testing/model/moments';
import { type Broken, runModel } from '@holdfast/server/testing/model/run-model';
import { startModelService } from '@holdfast/server/testing/model/world';
import { startTemplateDatabase } from '@holdfast/server/testing/template-database';
import { isForeignFirestoreInstalled, startForeignFirestore } from '../../packages/engine/testing/foreign-firestore.ts';

const brokenMax = 20;

export interface ModelOptions {
  runs: number;
  seed: number;
  /** Against the Firestore that others wrote, which cannot be made to misbehave. */
  isForeign: boolean;
}

/** Random histories of everything people can do, in any order, held against a model. */
export async function chaosModel({ runs, seed, isForeign }: ModelOptions): Promise<boolean> {
  const template = await startTemplateDatabase();
  const firestore = isForeign ? await foreign() : await sandboxed();
  const service = await startModelService(firestore, { templateUrl: template.url });
  try {
    const broken = await runModel(service, { runs, seed, brokenMax, onRun: show });
    console.log(JSON.stringify({ name: 'chaos model', runs, seed, isForeign, broken: broken.length }));
    return broken.length === 0;
  } finally {
    await service.close();
    await firestore.stop();
    await template.stop();
  }
}

/** The same for point-in-time recovery, with a log that is stored often and a Listen that promises what production does. */
export async function chaosMoments({ runs, seed, isForeign }: ModelOptions): Promise<boolean> {
  const template = await startTemplateDatabase();
  const firestore = isForeign
    ? await foreign()
    : await sandboxed({ listenMode: 'as-production', listenHeartbeatMs: 50 });
  const environment = { PITR_SEGMENT_SECONDS: '0.1' };
  const service = await startModelService(firestore, { templateUrl: template.url }, environment);
  try {
    const broken = await runMomentsModel(service, { runs, seed, brokenMax, onRun: show });
    console.log(
      JSON.stringify({ name: 'chaos moments', runs, seed, isForeign, ...momentCounts, broken: broken.length }),
    );
    return broken.length === 0;
  } finally {
    await service.close();
    await firestore.stop();
    await template.stop();
  }
}

async function foreign() {
  if (!isForeignFirestoreInstalled) throw new Error('The foreign Firestore is not installed here.');
  return startForeignFirestore();
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
