import fc from 'fast-check';
import { paths } from './documents.ts';
import type { Edit } from './live-database.ts';

/**
 * The second model: what can be done with point-in-time recovery in any order. It knows what stood in the database at
 * many moments, and each of them is shown exactly so or refused, and then the service says that it lies in a gap.
 */
export type MomentStep =
  | { readonly do: 'edit' | 'burst'; readonly edits: readonly Edit[] }
  | { readonly do: 'switch on'; readonly destination: number; readonly days: number }
  | { readonly do: 'switch off'; readonly deleteLog: boolean }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'catch up' }
  | { readonly do: 'back up'; readonly type: 'full' | 'incremental' | 'synthetic' }
  | { readonly do: 'delete backup'; readonly pick: number }
  | { readonly do: 'go back'; readonly pick: number; readonly how: How; readonly isUndone: boolean }
  | { readonly do: 'migrate'; readonly from: number; readonly to: number }
  | { readonly do: 'sweep' | 'rescan'; readonly destination: number }
  | { readonly do: 'later'; readonly days: number }
  | { readonly do: 'cut'; readonly what: 'streams' | 'bucket'; readonly edits: readonly Edit[] };

export interface How {
  readonly mergeMode: 'overwrite' | 'merge' | 'skip_existing';
  readonly deleteExtra: boolean;
}

const pick = fc.nat({ max: 200 });
const destination = fc.constantFrom(0, 1, 2);
const edits = fc.array(fc.record({ path: fc.constantFrom(...paths), isDelete: fc.boolean() }), {
  minLength: 1,
  maxLength: 6,
});
const how = fc.record({
  mergeMode: fc.constantFrom('overwrite' as const, 'overwrite' as const, 'merge' as const, 'skip_existing' as const),
  deleteExtra: fc.boolean(),
});
const switchingOn = fc.record({
  do: fc.constant('switch on' as const),
  destination,
  days: fc.constantFrom(1, 7, 35),
});

const anyStep: fc.Arbitrary<MomentStep> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('edit' as const, 'burst' as const), edits }) },
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
  { weight: 3, arbitrary: fc.record({ do: fc.constant('go back' as const), pick, how, isUndone: fc.boolean() }) },
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
      what: fc.constantFrom('streams' as const, 'bucket' as const),
      edits,
    }),
  },
);

/** Something to begin with, under capture, then anything. */
export const histories = fc
  .tuple(
    fc.record({ do: fc.constant('edit' as const), edits }),
    switchingOn,
    fc.constantFrom<MomentStep>({ do: 'catch up' }, { do: 'wait', ms: 100 }),
    fc.array(anyStep, { minLength: 4, maxLength: 16 }),
  )
  .map(([one, two, three, rest]): MomentStep[] => [one, two, three, ...rest]);
