import type { RecordBatch } from './record.ts';

export type MergeMode = 'overwrite' | 'skip_existing' | 'merge';

/**
 * A database that records are written to. Obligations:
 * - Puts are written as `mode` says, deletes delete. Everything fails or succeeds per document; one bad document never
 *   stops the others. Writing the same batches again has no worse effect.
 * - Values keep their bytes; only names move to the target database and, when asked, references into `sourceDatabase`.
 * - Batches stay within the database's limits; retries with jitter; the ramp-up of 500/50/5 unless switched off.
 * - Fatal faults (no permission at all, gone database) throw RESTORE_* EngineErrors. Backpressure on the input.
 */
export interface DocumentTarget {
  readonly database: string;
  apply(batches: AsyncIterable<RecordBatch>, options: ApplyOptions): Promise<ApplyResult>;
}

export interface ApplyOptions {
  /**
   * overwrite replaces the document; skip_existing writes only where none exists; merge merges maps deeply into an
   * existing document and replaces arrays and scalars.
   */
  readonly mode: MergeMode;
  /** References that point into this database are rewritten to the target's; absent: references stay as they are. */
  readonly rewriteReferencesFrom?: string;
  readonly rampUp: boolean;
  readonly signal?: AbortSignal;
  /**
   * Called after every acknowledged stretch with the last path below which everything is done, for checkpoints, and
   * the counts so far. Awaited, so a slow checkpoint slows the apply instead of piling up.
   */
  readonly onProgress?: (progress: ApplyProgress) => void | Promise<void>;
}

export interface ApplyCounts {
  readonly written: number;
  readonly skipped: number;
  readonly deleted: number;
  readonly failed: number;
}

export interface ApplyProgress extends ApplyCounts {
  /** Every record up to and including this path has been settled (done, skipped, or failed for good). */
  readonly settledThrough: string;
}

export interface ApplyResult extends ApplyCounts {
  /** A sample, at most applyErrorsMax. */
  readonly errors: readonly DocumentApplyError[];
}

export const applyErrorsMax = 100;

export interface DocumentApplyError {
  readonly path: string;
  readonly code: string;
  readonly message: string;
}
