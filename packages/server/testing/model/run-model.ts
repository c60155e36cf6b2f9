import fc from 'fast-check';
import { backupFaults, isSameAs } from './backup-steps.ts';
import type { Soundness } from './damage.ts';
import { textOf } from './documents.ts';
import { type BackupFact, Model } from './model.ts';
import { carryOut, historyOf, type Step } from './steps.ts';
import { Stock } from './stock.ts';
import { expiryFaults, objectFaults } from './storage-steps.ts';
import { type ModelService, World } from './world.ts';

export interface ModelSettings {
  readonly runs: number;
  readonly seed: number;
  /** How many broken promises are searched for before it stops. */
  readonly brokenMax?: number;
  onRun?(run: number, broken: readonly Broken[]): void;
}

/** A history that did not end as promised. */
export interface Broken {
  readonly seed: number;
  readonly steps: readonly object[];
  readonly fault: string;
}

/** What went wrong in a history, if anything. */
type Live<OneStep> = (steps: readonly OneStep[]) => Promise<string | undefined>;

/** Runs random histories against the service. Returns those that broke a promise, shortened as far as possible. */
export function runModel(service: ModelService, settings: ModelSettings): Promise<Broken[]> {
  return runHistories(historyOf(service.sandbox !== undefined), (steps) => live(service, steps), settings);
}

export async function runHistories<OneStep extends object>(
  histories: fc.Arbitrary<OneStep[]>,
  live: Live<OneStep>,
  settings: ModelSettings,
): Promise<Broken[]> {
  const broken: Broken[] = [];
  for (let run = 0; run < settings.runs && broken.length < (settings.brokenMax ?? 1); run++) {
    const seed = settings.seed + run;
    const [steps] = fc.sample(histories, { numRuns: 1, seed }) as [OneStep[]];
    const fault = await live(steps);
    if (fault !== undefined) broken.push({ seed, ...(await shorten(live, steps, fault)) });
    settings.onRun?.(run + 1, broken);
  }
  return broken;
}

/** Removes steps that are not needed for the failure. */
async function shorten<OneStep>(live: Live<OneStep>, steps: readonly OneStep[], fault: string) {
  let shortest = { steps, fault };
  for (let index = steps.length - 1; index >= 0; index--) {
    const fewer = shortest.steps.filter((_, place) => place !== index);
    const still = await live(fewer);
    if (still !== undefined) shortest = { steps: fewer, fault: still };
  }
  return shortest;
}

async function live(service: ModelService, steps: readonly Step[]): Promise<string | undefined> {
  const world = await World.create(service);
  const model = new Model();
  try {
    for (const [index, step] of steps.entries()) {
      const faults = await carryOut(world, model, step);
      if (faults.length > 0) return `step ${index}: ${faults.join('\n')}`;
    }
    const faults = [
      ...(await expiryFaults(world, model)),
      ...(await backupFaults(world, model)),
      ...(await scratchFaults(world, model)),
      ...(await objectFaults(world, model)),
    ];
    return faults.length > 0 ? `at the end: ${faults.join('\n')}` : undefined;
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  } finally {
    await world.close();
  }
}

/** One backup of each soundness, restored into an empty database, gives all of it or nothing. */
async function scratchFaults(world: World, model: Model): Promise<string[]> {
  const stock = await Stock.take(world, model);
  const full = model.present.filter(({ documents }) => documents.size > 0);
  const bySoundness = Map.groupBy(full, (one) => `${stock.readable(one)} ${stock.allWhole(one)}`);
  const faults: string[] = [];
  for (const [, [backup]] of bySoundness)
    faults.push(...(await scratchFaultsOf(world, backup!, stock.readable(backup!))));
  return faults;
}

let scratches = 0;

async function scratchFaultsOf(world: World, backup: BackupFact, soundness: Soundness): Promise<string[]> {
  scratches += 1;
  const { id: targetProjectId, live: scratch } = await world.addProject(`scratch-${scratches}`);
  const started = await world.must('POST', '/backups/restore', {
    backupId: backup.id,
    targetProjectId,
    options: { safetyBackup: false },
  });
  const ended = await world.untilEnded(`/backups/restore/${started.id}`);
  const restored = new Map([...(await scratch.read())].map(([path, { value }]) => [path, value]));
  if (ended.status !== 'completed') {
    if (soundness === 'whole' || ended.error?.code !== 'INTEGRITY_ERROR')
      return [`${backup.id} cannot be restored: ${JSON.stringify(ended.error)}`];
    return restored.size > 0 ? [`${backup.id} is damaged, and ${textOf([...restored])} was written`] : [];
  }
  if (soundness === 'damaged') return [`${backup.id} is damaged everywhere and was restored`];
  return isSameAs(restored, backup.documents)
    ? []
    : [`${backup.id} came back as ${textOf([...restored])} instead of ${textOf([...backup.documents])}`];
}
