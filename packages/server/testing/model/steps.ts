import fc from 'fast-check';
import { bucketIndex, type ElsewhereStep, type KeylessStep, whileElsewhere, whileKeyless } from './apart-steps.ts';
import { type AwayStep, whileAway } from './away-steps.ts';
import { type BackUpStep, backUp, type HoldStep, hold, type RemoveStep, remove } from './backup-steps.ts';
import { type BasketStep, restoreBasket } from './basket-steps.ts';
import { type DamageStep, harm, lossFaults, type VerifyStep, verify } from './damage-steps.ts';
import { type Part, parts, paths, plainParts, plainPaths } from './documents.ts';
import { type KeyStep, renewKey } from './key-steps.ts';
import type { Edit } from './live-database.ts';
import type { Model } from './model.ts';
import { type ReconnectStep, reconnect } from './project-steps.ts';
import { type RestoreStep, restore } from './restore-steps.ts';
import { runSchedule, type ScheduledStep } from './schedule-steps.ts';
import { Stock } from './stock.ts';
import {
  type DefaultStep,
  type ForgetStep,
  forget,
  type LaterStep,
  later,
  type MigrateStep,
  migrate,
  moveDefault,
  type RemoveDestinationStep,
  removeDestination,
  type TaskStep,
  tidy,
} from './storage-steps.ts';
import { Ambush, troubleOf } from './trouble.ts';
import { type ResumeStep, resume, type UndoStep, undo } from './undo-steps.ts';
import type { World } from './world.ts';

interface EditStep {
  readonly do: 'edit';
  readonly project: number;
  readonly edits: readonly Edit[];
}

export type Step =
  | EditStep
  | BackUpStep
  | RemoveStep
  | HoldStep
  | RestoreStep
  | ResumeStep
  | UndoStep
  | MigrateStep
  | TaskStep
  | ForgetStep
  | LaterStep
  | DefaultStep
  | BasketStep
  | ScheduledStep
  | RemoveDestinationStep
  | DamageStep
  | VerifyStep
  | AwayStep<Step>
  | KeylessStep<Step>
  | ElsewhereStep<Step>
  | ReconnectStep
  | KeyStep;

/** Runs a step; returns what was not as promised. */
export async function carryOut(world: World, model: Model, step: Step): Promise<string[]> {
  const before = model.damage.isAny ? await Stock.take(world, model) : undefined;
  const faults = await perform(world, model, step);
  if (!model.damage.isAny) return faults;
  const after = await Stock.take(world, model);
  for (const one of model.backups) one.isDoubted = after.records.get(one.id)?.verification?.status === 'failed';
  const isAlike = step.do === 'damage' || step.do === 'forget';
  return before && !isAlike ? [...faults, ...lossFaults(model, before, after)] : faults;
}

async function perform(world: World, model: Model, step: Step): Promise<string[]> {
  switch (step.do) {
    case 'edit':
      return edit(world, model, step);
    case 'back up':
      return backUp(world, model, step);
    case 'delete backup':
      return remove(world, model, step);
    case 'hold':
      return hold(world, model, step);
    case 'migrate':
      return migrate(world, model, step);
    case 'sweep':
    case 'rescan':
    case 'purge':
      return tidy(world, model, step);
    case 'forget':
      return forget(world, model, step);
    case 'later':
      return later(world, model, step);
    case 'move default':
      return moveDefault(world, model, step);
    case 'scheduled':
      return runSchedule(world, model, step);
    case 'remove destination':
      return removeDestination(world, model, step);
    case 'damage':
      return harm(world, model, step);
    case 'verify':
      return verify(world, model, step);
    case 'while away':
      return whileAway(world, model, step, (meanwhile) => perform(world, model, meanwhile));
    case 'while keyless':
      return whileKeyless(world, model, step, (meanwhile) => perform(world, model, meanwhile));
    case 'while elsewhere':
      return whileElsewhere(world, model, step, (meanwhile) => perform(world, model, meanwhile));
    case 'reconnect':
      return reconnect(world, model, step);
    case 'renew key':
      return renewKey(world, step);
    default:
      return ambushed(world, model, step);
  }
}

async function edit(world: World, model: Model, { project, edits }: EditStep): Promise<string[]> {
  await world.projects[project]!.live.edit(edits);
  const edited = edits.map(({ path }) => path);
  model.noteEdits(project, edited);
  return [];
}

type AmbushedStep = RestoreStep | BasketStep | ResumeStep | UndoStep;

async function ambushed(world: World, model: Model, step: AmbushedStep): Promise<string[]> {
  const ambush = new Ambush(world, model, step);
  try {
    if (step.do === 'restore') return await restore(world, model, step, ambush);
    if (step.do === 'basket') return await restoreBasket(world, model, step, ambush);
    if (step.do === 'resume') return await resume(world, model, step, ambush);
    return await undo(world, model, step, ambush);
  } finally {
    ambush.end();
  }
}

const pick = fc.nat({ max: 50 });
const project = fc.constantFrom(0, 0, 0, 1);
const pathOf = (canMisbehave: boolean) => fc.constantFrom(...(canMisbehave ? paths : plainPaths));
const editsOf = (canMisbehave: boolean) =>
  fc.array(fc.record({ path: pathOf(canMisbehave), isDelete: fc.boolean() }), { minLength: 1, maxLength: 6 });
const destination = fc.constantFrom(0, 1, 2);
const rarely = fc.constantFrom(false, false, false, false, true);
const days = fc.constantFrom(0, 0, 2, 9, 40);

const backingUpOf = (known: readonly Part[]) =>
  fc.record({
    do: fc.constant('back up' as const),
    type: fc.constantFrom('full' as const, 'incremental' as const, 'incremental' as const, 'synthetic' as const),
    project,
    part: fc.constantFrom(...known),
    destinations: fc.array(destination, { maxLength: 2 }),
    retentionDays: fc.constantFrom(null, null, 1, 8),
    isCancelled: rarely,
  });

/** Without a sandbox nothing can misbehave, so fewer steps are possible. */
function stepOf(canMisbehave: boolean): fc.Arbitrary<Step> {
  const known = canMisbehave ? parts : plainParts;
  const path = pathOf(canMisbehave);
  const edits = editsOf(canMisbehave);
  const trouble = troubleOf(canMisbehave);
  const asked = fc.oneof(
    fc.constantFrom(
      ...known.filter(({ excludeCollections }) => !excludeCollections),
      { includeSubcollections: canMisbehave },
      { includeSubcollections: false },
    ),
    fc.record(
      { documents: fc.uniqueArray(path, { minLength: 1, maxLength: 3 }), includeSubcollections: fc.constant(true) },
      { requiredKeys: ['documents'] },
    ),
  );
  const restoring = fc.record({
    do: fc.constant('restore' as const),
    pick,
    isElsewhere: rarely,
    mergeMode: fc.constantFrom('overwrite' as const, 'overwrite' as const, 'merge' as const, 'skip_existing' as const),
    deleteExtra: fc.boolean(),
    safetyBackup: fc.constantFrom(true, true, true, false),
    dryRun: rarely,
    asked: fc.oneof(fc.constant({}), asked),
    trouble,
    edits,
  });
  return fc.oneof(
    { weight: 5, arbitrary: fc.record({ do: fc.constant('edit' as const), project, edits }) },
    { weight: 5, arbitrary: backingUpOf(known) },
    { weight: 5, arbitrary: restoring },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('undo' as const),
        pick,
        force: fc.boolean(),
        isTried: rarely,
        trouble,
        edits,
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('resume' as const), pick, trouble, edits }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('delete backup' as const), pick }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('hold' as const), pick, isHeld: fc.boolean() }) },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('migrate' as const),
        from: destination,
        to: destination,
        hasTrouble: rarely,
        meanwhile: fc.constantFrom(
          'nothing' as const,
          'nothing' as const,
          'delete' as const,
          'back up' as const,
          'sweep' as const,
        ),
        pick,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constantFrom('sweep' as const, 'rescan' as const, 'purge' as const, 'purge' as const),
        destination,
        days,
        hasTrouble: rarely,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('forget' as const),
        picks: fc.array(pick, { minLength: 1, maxLength: 3 }),
        sweepFirst: fc.boolean(),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('later' as const), days }) },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('basket' as const),
        picks: fc.array(fc.record({ backup: pick, document: pick }), { minLength: 1, maxLength: 4 }),
        mergeMode: fc.constantFrom('overwrite' as const, 'merge' as const, 'skip_existing' as const),
        trouble,
        edits,
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('scheduled' as const),
        type: fc.constantFrom('full' as const, 'incremental' as const),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('remove destination' as const), destination }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('move default' as const), destination }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('reconnect' as const), project }) },
    { weight: 4, arbitrary: harming },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('verify' as const), pick }) },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('renew key' as const),
        how: fc.constantFrom('rotate' as const, 'passphrase' as const),
      }),
    },
  );
}

const harming = fc.record({
  do: fc.constant('damage' as const),
  pick,
  destination,
  object: pick,
  byte: fc.nat({ max: 4000 }),
  harm: fc.constantFrom('flip' as const, 'truncate' as const, 'remove' as const),
});

const swift: readonly Step['do'][] = [
  'edit',
  'back up',
  'restore',
  'undo',
  'delete backup',
  'migrate',
  'sweep',
  'rescan',
  'basket',
  'later',
];

/** What is tried in a bucket that is none of ours; what is stored there would be left there. */
const tidying: readonly Step['do'][] = ['sweep', 'rescan', 'purge'];

/**
 * The same, sometimes while a destination is unreachable or another bucket, or while the customer's key is withdrawn.
 */
function anyStepOf(canMisbehave: boolean): fc.Arbitrary<Step> {
  const step = stepOf(canMisbehave);
  const amongst = (kinds: readonly Step['do'][]) =>
    step
      .filter(({ do: kind }) => kinds.includes(kind))
      .map((one): Step => ('hasTrouble' in one ? { ...one, hasTrouble: false } : one));
  const away = fc.record({
    do: fc.constant('while away' as const),
    destination,
    step: amongst([...swift, 'renew key']),
  });
  const keyless = fc.record({ do: fc.constant('while keyless' as const), step: amongst([...swift, 'purge']) });
  const moving = fc.record({
    do: fc.constant('migrate' as const),
    from: fc.constant(bucketIndex),
    to: fc.constantFrom(0, 2),
    hasTrouble: fc.constant(false),
    meanwhile: fc.constant('nothing' as const),
    pick,
  });
  const elsewhere = fc.record({
    do: fc.constant('while elsewhere' as const),
    step: fc.oneof(amongst(tidying), moving),
  });
  return fc.oneof(
    { weight: 15, arbitrary: step },
    { weight: 1, arbitrary: away },
    { weight: 1, arbitrary: keyless },
    { weight: 1, arbitrary: elsewhere },
  );
}

/** Something to begin with, then anything. */
export function historyOf(canMisbehave: boolean): fc.Arbitrary<Step[]> {
  const edits = editsOf(canMisbehave);
  const first = fc.record({ do: fc.constant('edit' as const), project: fc.constant(0), edits });
  const second = backingUpOf(canMisbehave ? parts : plainParts).map(
    (step): Step => ({ ...step, type: 'full', project: 0, isCancelled: false }),
  );
  return fc
    .tuple(first, second, fc.array(anyStepOf(canMisbehave), { minLength: 4, maxLength: 14 }))
    .map(([one, two, rest]) => [one, two, ...rest]);
}
