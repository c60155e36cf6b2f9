import fc from 'fast-check';
import { type Part, paths, plainPaths } from './documents.ts';
import type { Edit } from './live-database.ts';
import type { RestoreStep } from './restore-steps.ts';
import { troubleOf } from './trouble.ts';
import type { ResumeStep, UndoStep } from './undo-steps.ts';

/**
 * The second model: everything that can be done with point-in-time recovery, in any order. It knows the contents of the
 * database at many moments. Each moment is shown exactly so, or refused as lying in a gap.
 */
export type MomentStep =
  | { readonly do: 'edit' | 'burst'; readonly project: number; readonly edits: readonly Edit[] }
  | { readonly do: 'switch on'; readonly destination: number; readonly days: number }
  | { readonly do: 'switch off'; readonly deleteLog: boolean }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'catch up' }
  | { readonly do: 'back up'; readonly type: 'full' | 'incremental' | 'synthetic' }
  | { readonly do: 'delete backup'; readonly pick: number }
  | GoBackStep
  | UndoStep
  | ResumeStep
  | { readonly do: 'migrate'; readonly from: number; readonly to: number }
  | { readonly do: 'sweep' | 'rescan'; readonly destination: number }
  | { readonly do: 'later'; readonly days: number }
  | { readonly do: 'cut'; readonly what: 'streams' | 'bucket'; readonly edits: readonly Edit[] };

/** All or a part, as it was at a moment, here or in the other project. */
export interface GoBackStep extends Omit<RestoreStep, 'do'> {
  readonly do: 'go back';
  /** The position in the time without changes, in percent. */
  readonly percent: number;
  /** Whether to use the edge of what can be restored, if its contents are known. */
  readonly isEdge: boolean;
}

const pick = fc.nat({ max: 200 });
const destination = fc.constantFrom(0, 1, 2);
const rarely = fc.constantFrom(false, false, false, true);
const editsOf = (canMisbehave: boolean) =>
  fc.array(fc.record({ path: fc.constantFrom(...(canMisbehave ? paths : plainPaths)), isDelete: fc.boolean() }), {
    minLength: 1,
    maxLength: 6,
  });

function askedOf(canMisbehave: boolean): fc.Arbitrary<Part> {
  const path = fc.constantFrom(...(canMisbehave ? paths : plainPaths));
  const below = canMisbehave ? { includeSubcollections: true } : {};
  return fc.oneof(
    fc.constant<Part>({}),
    fc.constantFrom<Part[]>(
      { collections: ['users'], includeSubcollections: false },
      { collections: ['users', 'orders'], includeSubcollections: false },
      { includeSubcollections: false },
      { collections: ['users', 'orders'], ...(canMisbehave ? {} : { includeSubcollections: false }) },
      canMisbehave ? { collections: ['users/*/orders'] } : {},
      canMisbehave ? { collections: ['users/1/orders'] } : {},
    ),
    fc.uniqueArray(path, { minLength: 1, maxLength: 3 }).map((documents): Part => ({ documents, ...below })),
    fc.uniqueArray(path, { minLength: 1, maxLength: 3 }).map((documents): Part => ({ documents })),
  );
}

const switchingOn = fc.record({
  do: fc.constant('switch on' as const),
  destination,
  days: fc.constantFrom(1, 7, 35),
});

function anyStepOf(canMisbehave: boolean): fc.Arbitrary<MomentStep> {
  const edits = editsOf(canMisbehave);
  const trouble = troubleOf(canMisbehave);
  const goingBack = fc.record({
    do: fc.constant('go back' as const),
    pick,
    percent: fc.constantFrom(0, 0, 50, 100),
    isEdge: rarely,
    isElsewhere: rarely,
    mergeMode: fc.constantFrom('overwrite' as const, 'overwrite' as const, 'merge' as const, 'skip_existing' as const),
    deleteExtra: fc.boolean(),
    safetyBackup: fc.constantFrom(true, true, true, true, false),
    dryRun: rarely,
    asked: askedOf(canMisbehave),
    trouble,
    edits,
  });
  const undoing = fc.record({
    do: fc.constant('undo' as const),
    pick,
    force: fc.boolean(),
    isTried: fc.boolean(),
    trouble,
    edits,
  });
  return fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constantFrom('edit' as const, 'burst' as const),
        project: fc.constantFrom(0, 0, 0, 1),
        edits,
      }),
    },
    { weight: 2, arbitrary: switchingOn },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('switch off' as const),
        deleteLog: fc.constantFrom(false, false, false, true),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(30, 150, 600) }) },
    { weight: 2, arbitrary: fc.constant({ do: 'catch up' as const }) },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('back up' as const),
        type: fc.constantFrom('full' as const, 'incremental' as const, 'incremental' as const, 'synthetic' as const),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('delete backup' as const), pick }) },
    { weight: 5, arbitrary: goingBack },
    { weight: 4, arbitrary: undoing },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('resume' as const), pick, trouble, edits }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('migrate' as const), from: destination, to: destination }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constantFrom('sweep' as const, 'rescan' as const), destination }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('later' as const), days: fc.constantFrom(0, 0.5, 2, 9, 40) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('cut' as const),
        what: fc.constantFrom<('streams' | 'bucket')[]>('bucket', canMisbehave ? 'streams' : 'bucket'),
        edits,
      }),
    },
  );
}

/** Something to begin with, under capture, then anything. */
export function momentHistoryOf(canMisbehave: boolean): fc.Arbitrary<MomentStep[]> {
  const edits = editsOf(canMisbehave);
  return fc
    .tuple(
      fc.record({ do: fc.constant('edit' as const), project: fc.constant(0), edits }),
      switchingOn,
      fc.constantFrom<MomentStep>({ do: 'catch up' }, { do: 'wait', ms: 100 }),
      fc.array(anyStepOf(canMisbehave), { minLength: 4, maxLength: 18 }),
    )
    .map(([one, two, three, rest]): MomentStep[] => [one, two, three, ...rest]);
}
