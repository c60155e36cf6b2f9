import type { Value } from '../values/value.ts';

export interface CursorPosition {
  readonly values: readonly Value[];
  readonly before: boolean;
}

/** The documents of a query. `collectionKey` is null when it is kindless. */
export interface Scope {
  readonly parentKey: string;
  readonly collectionKey: string | null;
  readonly allDescendants: boolean;
}
