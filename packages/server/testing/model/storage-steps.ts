import { setTimeout as sleep } from 'node:timers/promises';
import { asOwner } from '../people.ts';
import { exported, isSameAs, listedIds, partOf } from './backup-steps.ts';
import { textOf } from './documents.ts';
import type { BackupFact, Model } from './model.ts';
import { scheduleKeeps } from './schedule-steps.ts';
import { Stock } from './stock.ts';
import type { Answer, World } from './world.ts';

interface StorageTrouble {
  /** Some calls to the bucket fail, others succeed and lose their answers. */
  readonly hasTrouble: boolean;
}

export interface MigrateStep extends StorageTrouble {
  readonly do: 'migrate';
  readonly from: number;
  readonly to: number;
  /** What somebody does at the same time. */
  readonly meanwhile: 'nothing' | 'delete' | 'back up' | 'sweep';
  readonly pick: number;
}

export interface TaskStep extends StorageTrouble {
  readonly do: 'sweep' | 'rescan' | 'purge';
  readonly destination: number;
  readonly days: number;
}

const destinationOf = ({ destinations }: World, index: number) => destinations[index % destinations.length]!;

async function withTrouble<Result>(
  { service: { s3 } }: World,
  model: Model,
  { hasTrouble }: StorageTrouble,
  work: () => Promise<Result>,
): Promise<Result> {
  if (!hasTrouble) return work();
  model.hadStorageTrouble = true;
  s3.faults.set({ errorRate: 0.15, lostAckRate: 0.15, truncateRate: 0.1, harmedMax: 6 });
  try {
    return await work();
  } finally {
    s3.faults.clear();
  }
}

export async function migrate(world: World, model: Model, step: MigrateStep): Promise<string[]> {
  const [from, to] = [destinationOf(world, step.from), destinationOf(world, step.to)];
  const before = model.isAway ? undefined : await Stock.take(world, model);
  return withTrouble(world, model, step, async () => {
    const answer = await world.call('POST', `/storage-destinations/${from.id}/migrate`, {
      toStorageDestinationId: to.id,
    });
    if (answer.status !== 202) {
      const isFair = from === to || step.hasTrouble || model.isAway;
      return isFair ? [] : [`a migration was refused: ${answer.text}`];
    }
    const faults = await meddle(world, model, step);
    const task = await world.untilEnded(`/storage-destinations/${from.id}/tasks/${answer.body.data.id}`);
    if (step.hasTrouble || !before) return faults;
    const isQuiet = step.meanwhile === 'nothing' || step.meanwhile === 'sweep';
    return [...faults, ...(await stayFaults(world, model, step, before, task, isQuiet))];
  });
}

/** Only damaged backups, or ones that depend on them, may stay in place, and they are reported. */
async function stayFaults(
  world: World,
  model: Model,
  { from }: MigrateStep,
  before: Stock,
  task: Answer,
  isQuiet: boolean,
): Promise<string[]> {
  const here = model.present.filter((backup) => before.placesOf(backup).includes(from % world.destinations.length));
  const harmed = here.filter((backup) => before.allWhole(backup) !== 'whole');
  if (task.status !== 'completed') {
    const isFair = task.error?.code === 'INTEGRITY_ERROR' && harmed.length > 0;
    return isFair ? [] : [`a migration failed: ${JSON.stringify(task.error)}`];
  }
  if (!isQuiet) return [];
  const after = await Stock.take(world, model);
  const stayed = here.filter((backup) => after.placesOf(backup).includes(from % world.destinations.length));
  const told = JSON.stringify(task.result?.failures ?? []);
  const faults = stayed.filter(({ id }) => !told.includes(id)).map(({ id }) => `${id} stayed and was not told`);
  const tied = new Set(harmed.flatMap(({ id }) => before.chainOf(id)));
  for (const { id } of stayed)
    if (!before.chainOf(id).some((one) => tied.has(one))) faults.push(`${id} stayed although nothing is wrong with it`);
  return faults;
}

async function meddle(world: World, model: Model, step: MigrateStep): Promise<string[]> {
  const [project] = world.projects;
  if (step.meanwhile === 'back up') {
    const answer = await world.call('POST', '/backups', { projectId: project!.id });
    const backup = await world.untilEnded(`/backups/${answer.body.data.id}`);
    if (backup.status !== 'completed')
      return step.hasTrouble || model.isAway ? [] : [`a backup failed: ${JSON.stringify(backup.error)}`];
    const fact = { id: backup.id, project: 0, part: {}, isSafety: false, retentionDays: null };
    model.backups.push({ ...fact, documents: await exported(world, backup.id), isHeld: false, isGone: false });
  }
  if (step.meanwhile === 'sweep')
    for (const { id } of world.destinations) await world.call('POST', `/storage-destinations/${id}/sweep`);
  const backup = model.present[step.pick % model.present.length];
  if (step.meanwhile === 'delete' && backup) {
    const answer = await world.call('DELETE', `/backups/${backup.id}`);
    if (answer.status < 300) {
      const listed = await listedIds(world);
      for (const one of model.present) if (!listed.has(one.id)) one.isGone = true;
    }
  }
  return [];
}

/**
 * These tasks only tidy up: afterwards every backup exists as before. A rescan that can open nothing of what it found
 * fails, and names what it could not read.
 */
async function runTask(
  world: World,
  model: Model,
  step: TaskStep,
  unreadable: readonly BackupFact[] = [],
): Promise<string[]> {
  const { id } = destinationOf(world, step.destination);
  model.daysMax = Math.max(model.daysMax, step.days);
  return world.inDays(step.days, () =>
    withTrouble(world, model, step, async () => {
      const answer = await world.call('POST', `/storage-destinations/${id}/${step.do}`);
      if (answer.status !== 202) return model.isAway ? [] : [`a ${step.do} was refused: ${answer.text}`];
      const started = answer.body.data;
      const task = await world.untilEnded(`/storage-destinations/${id}/tasks/${started.id}`);
      const failures: { key: string }[] = task.error?.details?.failures ?? [];
      const isOfDamage =
        failures.length > 0 && failures.every(({ key }) => unreadable.some((one) => key.includes(one.id)));
      const isFair = task.status === 'completed' || step.hasTrouble || model.isAway || isOfDamage;
      return isFair ? [] : [`a ${step.do} failed: ${JSON.stringify(task.error)}`];
    }),
  );
}

export async function tidy(world: World, model: Model, step: TaskStep): Promise<string[]> {
  return [...(await runTask(world, model, step)), ...(await expiryFaults(world, model))];
}

export interface ForgetStep {
  readonly do: 'forget';
  readonly picks: readonly number[];
  readonly sweepFirst: boolean;
}

/** The catalogue is set back to a day when it did not know some backups. They are found again. */
export async function forget(world: World, model: Model, { picks, sweepFirst }: ForgetStep): Promise<string[]> {
  const { present } = model;
  if (present.length === 0) return [];
  const forgotten = [...new Set(picks.map((pick) => present[pick % present.length]!))];
  const before = await Stock.take(world, model);
  const maybeLost = forgotten.filter((one) => before.lies(one) !== 'whole');
  await asOwner(world.service.app.databaseUrl, (client) =>
    client.query('delete from backups where id = any($1)', [forgotten.map(({ id }) => id)]),
  );
  for (const one of forgotten) one.isHeld = false;
  const faults: string[] = [];
  const runAll = async (kind: 'sweep' | 'rescan' | 'purge', days: number) => {
    for (const destination of world.destinations.keys())
      faults.push(...(await runTask(world, model, { do: kind, destination, days, hasTrouble: false }, maybeLost)));
  };
  if (sweepFirst) {
    await runAll('sweep', 3);
    await runAll('purge', 0);
  }
  await runAll('rescan', 0);
  // Nobody knows any more what that was.
  const listed = await listedIds(world);
  for (const one of maybeLost) if (!listed.has(one.id)) one.isGone = true;
  return [...faults, ...(await expiryFaults(world, model))];
}

export interface LaterStep {
  readonly do: 'later';
  readonly days: number;
}

export async function later(world: World, model: Model, { days }: LaterStep): Promise<string[]> {
  model.daysMax = Math.max(model.daysMax, days);
  return world.inDays(days, async () => {
    await asOwner(world.service.app.databaseUrl, (client) =>
      client.query('update retention_checks set due_at = now() where organization_id = $1', [world.organizationId]),
    );
    await world.service.app.tasks.runNow('retention');
    return expiryFaults(world, model);
  });
}

/** Backups that were removed automatically were allowed to be, and new ones show what another one showed. */
export async function expiryFaults(world: World, model: Model): Promise<string[]> {
  const listed = await listedIds(world);
  const faults: string[] = [];
  for (const id of listed) if (!model.backup(id)) faults.push(...(await adopt(world, model, id)));
  for (const backup of model.present.filter(({ id }) => !listed.has(id))) {
    backup.isGone = true;
    if (!mayExpire(model, backup)) faults.push(`${backup.id} went by itself: ${textOf(backup)}`);
  }
  return faults;
}

function mayExpire(model: Model, backup: BackupFact): boolean {
  if (backup.isHeld) return false;
  const isReplaced = model.present.some(
    (one) =>
      one.project === backup.project &&
      textOf(one.part) === textOf(backup.part) &&
      isSameAs(one.documents, backup.documents),
  );
  const isDue = backup.retentionDays !== null && model.daysMax >= backup.retentionDays;
  const isNewest =
    !backup.isSafety &&
    !backup.isDoubted &&
    !model.present.some(
      (one) =>
        !one.isSafety &&
        !one.isDoubted &&
        one.project === backup.project &&
        one.id > backup.id &&
        textOf(one.part) === textOf(backup.part),
    );
  return isReplaced || ((isDue || isOutnumbered(model, backup)) && !isNewest);
}

/** By the policy of its schedule. */
function isOutnumbered(model: Model, { id, scheduleId }: BackupFact): boolean {
  if (scheduleId === undefined) return false;
  const newer = model.backups.filter((one) => one.scheduleId === scheduleId && one.id > id);
  return newer.length >= scheduleKeeps;
}

/** Retention may merge a chain in place. */
async function adopt(world: World, model: Model, id: string): Promise<string[]> {
  const record = await world.untilEnded(`/backups/${id}`);
  if (record.status !== 'completed') return [];
  const project = world.indexOf(record.projectId);
  const part = partOf(record.scope);
  const documents = await exported(world, id).catch((error: unknown) => {
    if (!model.damage.isAny) throw error;
  });
  if (!documents) return [];
  const isKnown = model.backups.some((one) => textOf(one.part) === textOf(part) && isSameAs(one.documents, documents));
  model.backups.push({ id, project, part, documents, isSafety: false, retentionDays: 1, isHeld: false, isGone: false });
  return isKnown ? [] : [`${id} appeared and shows what no backup showed`];
}

export interface DefaultStep {
  readonly do: 'move default';
  readonly destination: number;
}

export async function moveDefault(world: World, _model: Model, { destination }: DefaultStep): Promise<string[]> {
  const defaultStorageId = destinationOf(world, destination).id;
  await world.must('PUT', '/organizations/current', { settings: { defaultStorageId } });
  return [];
}

export interface RemoveDestinationStep {
  readonly do: 'remove destination';
  readonly destination: number;
}

/** A destination without backups may be removed; the same place is added again, as a new record. */
export async function removeDestination(
  world: World,
  _model: Model,
  { destination }: RemoveDestinationStep,
): Promise<string[]> {
  const { id } = destinationOf(world, destination);
  const answer = await world.call('DELETE', `/storage-destinations/${id}`);
  if (answer.status < 300) await world.addAgain(destination);
  else if (answer.body?.error?.code !== 'RESOURCE_IN_USE') return [`a removal was refused: ${answer.text}`];
  return [];
}

const goneTimeoutMs = 15_000;

/** Every stored object has an owner: foreign objects are untouched, and ours belong to existing backups. */
export async function objectFaults(world: World, model: Model): Promise<string[]> {
  const changed = await world.foreignObjectsThatChanged();
  const faults = changed.map((key) => `${key} is not ours and was changed`);
  if (model.hadStorageTrouble) return faults;
  const present = new Set(model.present.map(({ id }) => id));
  for (const deadline = performance.now() + goneTimeoutMs; ; await sleep(50)) {
    const left: string[] = [];
    for (const { objects } of world.destinations)
      for (const key of (await objects()).keys()) {
        const [, id] = /^backups\/(bkp_[^/]+)\//.exec(key) ?? [];
        if (id && !present.has(id)) left.push(key);
      }
    if (left.length === 0) return faults;
    if (performance.now() > deadline) return [...faults, `nobody's objects are left: ${left.join(', ')}`];
  }
}
