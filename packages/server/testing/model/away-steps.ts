import type { Model } from './model.ts';
import { Stock } from './stock.ts';
import type { World } from './world.ts';

export interface AwayStep<Step> {
  readonly do: 'while away';
  readonly destination: number;
  /** What somebody does meanwhile. */
  readonly step: Step;
}

/** A destination is unreachable for a while: whatever was tried meanwhile, everything works afterwards as before. */
export async function whileAway<Step>(
  world: World,
  model: Model,
  { destination, step }: AwayStep<Step>,
  perform: (step: Step) => Promise<string[]>,
): Promise<string[]> {
  const index = destination % world.destinations.length;
  const place = world.destinations[index]!;
  const before = await Stock.take(world, model);
  const isHeld = model.present.some((backup) => before.placesOf(backup).includes(index));
  const faults: string[] = [];
  await place.leave();
  model.isAway = true;
  try {
    faults.push(...(await perform(step)));
    const { body } = await world.call('POST', `/storage-destinations/${place.id}/test`);
    if (body.data.ok && isHeld) faults.push('a place that cannot be reached passed its test');
  } finally {
    model.isAway = false;
    model.hadStorageTrouble = true;
    const made = await place.comeBack();
    // A folder that was empty may be created again.
    if (isHeld) faults.push(...made);
  }
  const { body } = await world.call('POST', `/storage-destinations/${place.id}/test`);
  if (!body.data.ok && !model.damage.isAny)
    faults.push(`a place that is back does not pass its test: ${JSON.stringify(body.data)}`);
  return faults;
}
