import { setTimeout as sleep } from 'node:timers/promises';
import type { Damage } from './damage.ts';
import type { Model } from './model.ts';
import { Stock } from './stock.ts';
import type { Answer, Destination, World } from './world.ts';

export interface DamageStep {
  readonly do: 'damage';
  readonly pick: number;
  readonly destination: number;
  readonly object: number;
  /** The position in the object. */
  readonly byte: number;
  readonly harm: 'flip' | 'truncate' | 'remove';
}

/** One stored object of one copy is changed, cut off, or removed. */
export async function harm(world: World, model: Model, step: DamageStep): Promise<string[]> {
  const stock = await Stock.take(world, model);
  const backup = model.present[step.pick % model.present.length];
  if (!backup) return [];
  const places = stock.placesOf(backup);
  const place = places[step.destination % places.length];
  if (place === undefined) return [];
  const keys = [...stock.contents[place]!.keys()].filter((key) => key.startsWith(`backups/${backup.id}/`)).sort();
  const key = keys[step.object % keys.length];
  if (key === undefined) return [];
  await harmObject(world.destinations[place]!, key, stock.contents[place]!.get(key)!, step, (content) =>
    model.damage.note(place, key, content, step.harm === 'flip'),
  );
  // A damaged backup is kept where it might still be of use.
  model.hadStorageTrouble = true;
  return [];
}

async function harmObject(
  destination: Destination,
  key: string,
  content: string,
  { harm: how, byte }: DamageStep,
  note: (content: string | null) => ReturnType<Damage['note']>,
): Promise<void> {
  const at = byte % content.length;
  const flipped = `${content.slice(0, at)}${String.fromCharCode(content.charCodeAt(at) ^ 1)}${content.slice(at + 1)}`;
  const harmed = how === 'flip' ? flipped : how === 'truncate' ? content.slice(0, at) : null;
  note(harmed);
  await destination.put(key, harmed);
}

export interface VerifyStep {
  readonly do: 'verify';
  readonly pick: number;
}

const pollMs = 20;
const verifyTimeoutMs = 30_000;

/** A verification finds damage in any copy, and none where there is none. */
export async function verify(world: World, model: Model, { pick }: VerifyStep): Promise<string[]> {
  const backup = model.present[pick % model.present.length];
  if (!backup) return [];
  // A wrapped key in a manifest that does not open is reported, and rewrapped at once.
  const expected = (await Stock.take(world, model)).allWhole(backup);
  const answer = await world.call('POST', `/backups/${backup.id}/verify`, {});
  if (answer.status !== 202) return [`a verification was refused: ${answer.text}`];
  const { verification } = await untilVerified(world, backup.id);
  const found = verification.status === 'passed' ? 'whole' : 'damaged';
  if (expected === 'unsure' || found === expected) return [];
  return [`${backup.id} is ${expected}, and its verification says: ${JSON.stringify(verification)}`];
}

export async function untilVerified(world: World, id: string): Promise<Answer> {
  for (const deadline = performance.now() + verifyTimeoutMs; ; await sleep(pollMs)) {
    const record = await world.get(`/backups/${id}`);
    if (record.verification?.status !== 'running') return record;
    if (performance.now() > deadline) throw new Error(`stuck: the verification of ${id}`);
  }
}

/** What was readable before a step is readable after it, from the places that the service names. */
export function lossFaults(model: Model, before: Stock, after: Stock): string[] {
  return model.present
    .filter((backup) => before.records.has(backup.id) && after.records.has(backup.id))
    .filter((backup) => before.readable(backup) === 'whole' && after.readable(backup) !== 'whole')
    .map(({ id }) => `${id} could be read before and cannot any more`);
}
