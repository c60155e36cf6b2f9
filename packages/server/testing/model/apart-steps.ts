import { setTimeout as sleep } from 'node:timers/promises';
import type { Model } from './model.ts';
import { type Answer, otherBucket, type World } from './world.ts';

type Perform<Step> = (step: Step) => Promise<string[]>;

export interface KeylessStep<Step> {
  readonly do: 'while keyless';
  /** What somebody does meanwhile. */
  readonly step: Step;
}

const keyPath = '/organizations/current/encryption-key';
let keysMade = 0;

/** The customer's key is withdrawn for a while: with the key, everything can be read as before. */
export async function whileKeyless<Step>(
  world: World,
  model: Model,
  { step }: KeylessStep<Step>,
  perform: Perform<Step>,
): Promise<string[]> {
  keysMade += 1;
  const key = Buffer.alloc(32, `key ${keysMade} `).toString('base64');
  await world.must('PUT', keyPath, { key });
  const rotated = await world.call('POST', `${keyPath}/rotate`);
  if (rotated.status >= 300) return [`a rotation was refused: ${rotated.text}`];
  await world.must('DELETE', keyPath);
  return apart(model, step, perform, () => world.must('PUT', keyPath, { key }));
}

export interface ElsewhereStep<Step> {
  readonly do: 'while elsewhere';
  readonly step: Step;
}

/** The destination that is a bucket. */
export const bucketIndex = 1;
const turnTimeoutMs = 60_000;

/** A destination is turned to an empty bucket by mistake, and back: whatever was tried meanwhile, nothing is lost. */
export async function whileElsewhere<Step>(
  world: World,
  model: Model,
  { step }: ElsewhereStep<Step>,
  perform: Perform<Step>,
): Promise<string[]> {
  const { id, body } = world.destinations[bucketIndex]!;
  const { bucket, credentials } = body as { bucket: string; credentials: object };
  await turnTo(world, id, { bucket: otherBucket, credentials });
  const faults = await apart(model, step, perform, () => turnTo(world, id, { bucket, credentials }));
  const { id: taskId } = await world.must('POST', `/storage-destinations/${id}/rescan`);
  const task = await world.untilEnded(`/storage-destinations/${id}/tasks/${taskId}`);
  if (task.status !== 'completed' && !model.damage.isAny)
    faults.push(`a bucket that is back cannot be rescanned: ${JSON.stringify(task.error)}`);
  return faults;
}

/** Refused while something works there. */
async function turnTo(world: World, id: string, place: object): Promise<void> {
  for (const deadline = performance.now() + turnTimeoutMs; ; await sleep(50)) {
    const answer = await world.call('PATCH', `/storage-destinations/${id}`, place);
    if (answer.status < 300) return;
    if (answer.body?.error?.code !== 'RESOURCE_IN_USE' || performance.now() > deadline) throw new Error(answer.text);
  }
}

/** What is tried meanwhile may fail. */
async function apart<Step>(
  model: Model,
  step: Step,
  perform: Perform<Step>,
  comeBack: () => Promise<Answer>,
): Promise<string[]> {
  model.isAway = true;
  model.hadStorageTrouble = true;
  try {
    return await perform(step);
  } finally {
    model.isAway = false;
    await comeBack();
  }
}
