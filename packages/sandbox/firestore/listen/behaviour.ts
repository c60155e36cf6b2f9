/**
 * How Listen treats its callers. `generous`: everything since a resume is sent, deletions too. `as-production`: what
 * Google promises and no more.
 */
export type ListenMode = 'generous' | 'as-production';

export interface ListenBehaviour {
  readonly mode: ListenMode;
  /**
   * What a resumed target gets instead of deletions: a count with a bloom filter (when it sent an expected count), a
   * count alone, or nothing.
   */
  readonly existenceFilters: 'bloom' | 'count' | 'none';
  /** A target that has not caught up after this time, or this many documents, is removed without a position. */
  readonly catchUpMsMax: number;
  readonly catchUpDocumentsMax: number;
  /** A position older than this runs the whole query again. */
  readonly staleAfterMs: number;
  /** Changed documents that may wait for a slow reader; one more ends the stream with RESOURCE_EXHAUSTED. */
  readonly bufferDocumentsMax: number;
  /** A stream is cut without a status after a time between these two; null: never. */
  readonly cutAfterMs: readonly [number, number] | null;
}

const unlimited = Number.POSITIVE_INFINITY;

const generous: ListenBehaviour = {
  mode: 'generous',
  existenceFilters: 'count',
  catchUpMsMax: unlimited,
  catchUpDocumentsMax: unlimited,
  staleAfterMs: unlimited,
  bufferDocumentsMax: unlimited,
  cutAfterMs: null,
};

const asProduction: ListenBehaviour = {
  mode: 'as-production',
  existenceFilters: 'bloom',
  catchUpMsMax: 10 * 60_000,
  catchUpDocumentsMax: unlimited,
  staleAfterMs: 30 * 60_000,
  bufferDocumentsMax: 100_000,
  cutAfterMs: null,
};

export function listenBehaviour(mode: ListenMode, more: Partial<ListenBehaviour> = {}): ListenBehaviour {
  const { cutAfterMs = null } = more;
  if (
    cutAfterMs !== null &&
    !(Array.isArray(cutAfterMs) && cutAfterMs.length === 2 && cutAfterMs.every(Number.isFinite))
  )
    throw new TypeError('cutAfterMs is a pair of milliseconds, or null');
  return { ...(mode === 'generous' ? generous : asProduction), ...more, mode };
}
