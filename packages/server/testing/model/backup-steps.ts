import { isPart, type Part, textOf, type Value } from './documents.ts';
import { type BackupFact, documentsIn, type Model } from './model.ts';
import { Stock } from './stock.ts';
import type { Answer, World } from './world.ts';

export interface BackUpStep {
  readonly do: 'back up';
  readonly type: 'full' | 'incremental' | 'synthetic';
  readonly project: number;
  readonly part: Part;
  /** Absent: the organization's default. */
  readonly destinations: readonly number[];
  readonly retentionDays: number | null;
  readonly isCancelled: boolean;
}

export async function backUp(world: World, model: Model, step: BackUpStep): Promise<string[]> {
  const { id: projectId, live } = world.projects[step.project]!;
  const before = model.damage.isAny && !model.isAway ? await Stock.take(world, model) : undefined;
  const ids = [...new Set(step.destinations.map((index) => world.destinations[index % world.destinations.length]!.id))];
  const answer = await world.call('POST', '/backups', {
    projectId,
    type: step.type,
    ...step.part,
    ...(ids.length > 0 ? { storageDestinationIds: ids } : {}),
    ...(step.retentionDays ? { retention: step.retentionDays } : {}),
  });
  if (answer.status !== 202) {
    const hasNone = !model.present.some(
      ({ id, project, isSafety }) => project === step.project && !isSafety && !model.former.has(id),
    );
    return step.type === 'synthetic' && hasNone ? [] : [`a backup was refused: ${answer.text}`];
  }
  const { id } = answer.body.data;
  if (step.isCancelled) await world.call('POST', `/backups/${id}/cancel`, {});
  const ended = await world.untilEnded(`/backups/${id}`);
  const documents = documentsIn(step.part, await live.read());
  if (ended.status === 'completed') {
    const faults = note(model, step, ended, step.type === 'synthetic' ? await exported(world, id) : documents);
    return before ? [...faults, ...baseFaults(before, ended)] : faults;
  }
  const isFair =
    (step.isCancelled && ended.status === 'cancelled') ||
    (ended.error?.code === 'COLLECTION_NOT_FOUND' && documents.size === 0) ||
    (step.type === 'synthetic' && !mergeable(model, step)) ||
    model.isAway ||
    (ended.error?.code === 'INTEGRITY_ERROR' && step.type !== 'full' && before && isAnyDamaged(model, before, step));
  return isFair ? [] : [`a backup ended as ${ended.status}: ${JSON.stringify(ended.error)}`];
}

/** Nothing is built on a backup that is known to be damaged. */
function baseFaults(before: Stock, { id, type, parentId }: Answer): string[] {
  if (type !== 'incremental') return [];
  const known = before.chainOf(parentId).find((one) => before.records.get(one)?.verification?.status === 'failed');
  return known ? [`${id} was built on ${known}, which did not pass its verification`] : [];
}

function isAnyDamaged(model: Model, stock: Stock, { project }: BackUpStep): boolean {
  return model.present.some((one) => one.project === project && stock.allWhole(one) !== 'whole');
}

/** The backups that a merge with this scope could begin with. */
function mergeable(model: Model, { project, part }: BackUpStep): BackupFact | undefined {
  return model.present.findLast(
    (one) => !one.isSafety && !model.former.has(one.id) && one.project === project && textOf(one.part) === textOf(part),
  );
}

function note(model: Model, step: BackUpStep, { id, scope }: Answer, documents: ReadonlyMap<string, Value>): string[] {
  const part = partOf(scope);
  const { project, retentionDays } = step;
  model.backups.push({ id, project, part, documents, isSafety: false, retentionDays, isHeld: false, isGone: false });
  if (step.type !== 'synthetic') return [];
  const isKnown = model.present.some(
    (one) =>
      one.id !== id &&
      one.project === project &&
      isSameAs(one.documents, documents) &&
      textOf(one.part) === textOf(part),
  );
  return isKnown
    ? []
    : [`${id} was merged from what no backup shows, or calls itself what it is not: ${textOf(scope)}`];
}

export function partOf({ collections, excludeCollections, includeSubcollections, documents }: Answer): Part {
  if (documents) return { documents: documents.paths };
  return {
    ...(collections[0] === '*' ? {} : { collections }),
    ...(excludeCollections.length > 0 ? { excludeCollections } : {}),
    ...(includeSubcollections ? {} : { includeSubcollections }),
  };
}

export function isSameAs(left: ReadonlyMap<string, Value>, right: ReadonlyMap<string, Value>): boolean {
  return left.size === right.size && [...left].every(([path, value]) => textOf(right.get(path)) === textOf(value));
}

/** The contents of a backup, line by line. */
export async function exported(world: Pick<World, 'call'>, id: string): Promise<Map<string, Value>> {
  const answer = await world.call('GET', `/backups/${id}/export?format=ndjson`);
  if (answer.status !== 200) throw new Error(`${id} cannot be exported: ${answer.text}`);
  const lines = answer.text.split('\n').filter((line) => line !== '');
  return new Map(
    lines.map((line) => {
      const { name, fields } = JSON.parse(line);
      return [name.split('/documents/')[1] ?? name, plainMap(fields)];
    }),
  );
}

export function plainMap(fields: Record<string, Answer>): Value {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, plain(value)]));
}

function plain(value: Answer): Answer {
  if ('integerValue' in value) return Number(value.integerValue);
  if ('mapValue' in value) return plainMap(value.mapValue.fields ?? {});
  return (value.arrayValue.values ?? []).map(plain);
}

export interface RemoveStep {
  readonly do: 'delete backup';
  readonly pick: number;
}

/** A deletion is refused for a backup in use; other backups removed with it were merged into another one. */
export async function remove(world: World, model: Model, { pick }: RemoveStep): Promise<string[]> {
  const candidates = model.present;
  const backup = candidates[pick % candidates.length];
  if (!backup) return [];
  const answer = await world.call('DELETE', `/backups/${backup.id}`);
  if (answer.status < 300) {
    backup.isGone = true;
    if (backup.isHeld) return [`${backup.id} was deleted under legal hold`];
    return noteMerged(world, model);
  }
  const code = answer.body?.error?.code;
  const isFair = code === 'RESOURCE_IN_USE' || (code === 'INVALID_STATE' && backup.isHeld);
  return isFair ? [] : [`a deletion was refused: ${answer.text}`];
}

/** Merged increments are removed with their base when the merged backup has the same contents. */
async function noteMerged(world: World, model: Model): Promise<string[]> {
  const listed = await listedIds(world);
  const faults: string[] = [];
  for (const backup of model.present.filter(({ id }) => !listed.has(id))) {
    backup.isGone = true;
    if (backup.isHeld) faults.push(`${backup.id} went along with another although it is held`);
    if (!model.present.some((one) => listed.has(one.id) && isSameAs(one.documents, backup.documents)))
      faults.push(`${backup.id} went along with another, and what it showed is nowhere else`);
  }
  return faults;
}

export async function listedIds(world: World): Promise<Set<string>> {
  const answer = await world.call('GET', '/backups?limit=200');
  return new Set(answer.body.data.map(({ id }: { id: string }) => id));
}

export interface HoldStep {
  readonly do: 'hold';
  readonly pick: number;
  readonly isHeld: boolean;
}

export async function hold(world: World, model: Model, { pick, isHeld }: HoldStep): Promise<string[]> {
  const candidates = model.present;
  const backup = candidates[pick % candidates.length];
  if (!backup) return [];
  await world.must(isHeld ? 'POST' : 'DELETE', `/backups/${backup.id}/hold`);
  backup.isHeld = isHeld;
  return [];
}

/** Every existing backup shows the contents of the time it was made. */
export async function backupFaults(world: World, model: Model): Promise<string[]> {
  const faults: string[] = [];
  const stock = await Stock.take(world, model);
  for (const backup of model.present) {
    const { id, documents, part } = backup;
    const { status } = await world.get(`/backups/${id}`);
    if (status !== 'completed') faults.push(`${id} became ${status}`);
    const soundness = stock.readable(backup);
    const shown = await exported(world, id).catch((error: unknown) => {
      if (soundness === 'whole') throw error;
    });
    if (shown && soundness === 'damaged' && documents.size > 0)
      faults.push(`${id} is damaged everywhere and was exported as if it were whole`);
    if (!shown || soundness === 'damaged') continue;
    if (!isSameAs(shown, documents))
      faults.push(`${id} shows ${textOf([...shown])} instead of ${textOf([...documents])}`);
    const outside = [...shown.keys()].find((path) => !isPart(part, path));
    if (outside) faults.push(`${id} shows ${outside}, which lies outside of its scope`);
  }
  return faults;
}
