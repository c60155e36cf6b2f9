import fc from 'fast-check';
import { paths } from '../model/documents.ts';
import type { Edit } from '../model/live-database.ts';
import type { Rules } from './facts.ts';

export type RetentionStep =
  | { readonly do: 'edit'; readonly edits: readonly Edit[] }
  | { readonly do: 'run' }
  | { readonly do: 'back up'; readonly type: 'full' | 'incremental' | 'synthetic'; readonly days: number | null }
  | { readonly do: 'later'; readonly days: number }
  | { readonly do: 'hold'; readonly pick: number; readonly isHeld: boolean }
  | { readonly do: 'lock'; readonly pick: number; readonly days: number }
  | { readonly do: 'delete'; readonly pick: number }
  | { readonly do: 'restore'; readonly pick: number }
  | { readonly do: 'rules'; readonly rules: Rules };

const few = fc.integer({ min: 1, max: 3 });
const rules: fc.Arbitrary<Rules> = fc.oneof(
  fc.record({ days: fc.constantFrom(1, 3, 12), policy: fc.constant(null) }),
  fc.record({
    days: fc.constant(null),
    policy: fc.oneof(
      fc.record({ last: few }),
      fc.record({ daily: few }),
      fc.record({ last: fc.constant(1), weekly: few, monthly: few }),
      fc.record({ monthly: few, yearly: few }),
    ),
  }),
);
const pick = fc.nat({ max: 50 });
/** `users/1` is always there: a database that lost everything would freeze retention. */
const edit = fc
  .record({ path: fc.constantFrom(...paths), isDelete: fc.boolean() })
  .map(({ path, isDelete }) => ({ path, isDelete: isDelete && path !== 'users/1' }));
const step: fc.Arbitrary<RetentionStep> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('run' as const) }) },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('later' as const), days: fc.constantFrom(1, 1, 2, 5, 9, 33) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('edit' as const), edits: fc.array(edit, { minLength: 1, maxLength: 5 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('back up' as const),
      type: fc.constantFrom('full' as const, 'incremental' as const, 'synthetic' as const),
      days: fc.constantFrom(null, 1, 6),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('hold' as const), pick, isHeld: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('lock' as const), pick, days: fc.constantFrom(1, 4) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), pick }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restore' as const), pick }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('rules' as const), rules }) },
);

export interface RetentionHistory {
  readonly rules: Rules;
  readonly fullEvery: number;
  readonly steps: readonly RetentionStep[];
}

export function drawHistory(seed: number, steps: { least: number; most: number }): RetentionHistory {
  const history = fc.record({
    rules,
    fullEvery: fc.constantFrom(1, 2, 3, 4),
    steps: fc.array(step, { minLength: steps.least, maxLength: steps.most }),
  });
  return fc.sample(history, { numRuns: 1, seed })[0] as RetentionHistory;
}
