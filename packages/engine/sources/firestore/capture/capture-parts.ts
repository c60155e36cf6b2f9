import type { CaptureOptions } from '../../../ports/index.ts';
import type { FirestoreSource } from '../source.ts';
import type { CoveredTime } from './covered-time.ts';
import type { CollectionGroups } from './groups.ts';
import type { ReadBudget } from './read-budget.ts';

export const captureDefaults = {
  batchIntervalMs: 10_000,
  batchBytesMax: 4 * 1024 * 1024,
  batchChangesMax: 5_000,
  exactWithinMs: 10_000,
  readsPerHourMax: 2_000_000,
};
/** What every part of a running capture works with. */
export interface CaptureParts {
  readonly source: FirestoreSource;
  readonly options: CaptureOptions & typeof captureDefaults;
  readonly groups: CollectionGroups;
  readonly covered: CoveredTime;
  readonly budget: ReadBudget;
}
