import { emptyOutline, outlineDocument } from './document-bytes.ts';
import type { RecordBatch, RecordKind } from './record.ts';

export type MergeMode = 'overwrite' | 'skip_existing' | 'merge';

/**
 * A database that records are written to. Obligations:
 * - Puts are written as `mode` says, deletes delete. Everything fails or succeeds per document; one bad document never
 *   stops the others. Writing the same batches again has no worse effect.
 * - Values keep their bytes; only names move to the target database and, when asked, references into `sourceDatabase`.
 * - Batches stay within the database's limits; retries with jitter; the ramp-up of 500/50/5 unless switched off.
 * - A record with an expected version is written only over that version; whatever else is there is shown to the guard.
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
  /**
   * For several writers of one database: they share the ramp-up. Called repeatedly; absent: this is the only writer.
   */
  readonly pace?: () => WritePace;
  readonly signal?: AbortSignal;
  /**
   * Ends the work gently: no further record is sent, requests in progress are waited for, and the result says how far
   * it came.
   */
  readonly stop?: AbortSignal;
  /** Is told the outcome of every record, and decides when another version is found than expected. */
  readonly guard?: WriteGuard;
  /**
   * Sends nothing. Records that an earlier run wrote without recording it are reported as written, all others as
   * skipped. Needs a guard, and expected versions where documents may be overwritten.
   */
  readonly isInquiry?: boolean;
  /**
   * Called for checkpoints after every acknowledged stretch, with the path up to which everything is done and the
   * counts so far. Awaited, so a slow checkpoint slows down the writing.
   */
  readonly onProgress?: (progress: ApplyProgress) => void | Promise<void>;
  /**
   * Called when writes after the path of onProgress are acknowledged, or are included in it. Only for display: a run
   * that continues after that path writes and counts them again.
   */
  readonly onAhead?: (ahead: WrittenAhead) => void;
}

/** Writes that are already in the database, in stretches that are not complete yet. */
export interface WrittenAhead {
  readonly written: number;
  readonly deleted: number;
  readonly bytes: number;
}

export interface WritePace {
  /** How long ago the first writer began. */
  readonly elapsedMs: number;
  /** The share of the rate for this writer; all shares together are at most 1. */
  readonly share: number;
}

/** When a document was last changed, by the database's own clock. */
export interface Version {
  readonly seconds: number;
  readonly nanos: number;
}

const outline = emptyOutline();

/** The version of a serialized document. */
export function versionOfDocument(document: Uint8Array): Version {
  outlineDocument(document, 0, document.length, outline);
  return { seconds: outline.updateSeconds, nanos: outline.updateNanos };
}

/** Whether a document was created after a moment. */
export function isCreatedAfter(document: Uint8Array, moment: Version): boolean {
  outlineDocument(document, 0, document.length, outline);
  return isLater({ seconds: outline.createSeconds, nanos: outline.createNanos }, moment);
}

export function isLater(left: Version, right: Version): boolean {
  return left.seconds > right.seconds || (left.seconds === right.seconds && left.nanos > right.nanos);
}

/** Records that may overwrite only the given versions, one for each record: null where no document may exist. */
export interface GuardedBatch extends RecordBatch {
  readonly expected: readonly (Version | null)[];
}

export interface WriteGuard {
  /**
   * How many of the first records an earlier run may have written without recording it. If such a document has exactly
   * the wanted content, it counts as written.
   */
  readonly repeatedRecords: number;
  /** When the work began, by the database's clock. An older document was not created by an earlier run. */
  readonly began?: Version | undefined;
  /**
   * The document before the work began; undefined when there was none, or when nobody knows. Called only for repeated
   * merges.
   */
  former(path: string): Promise<Uint8Array | undefined>;
  /**
   * The version that an earlier run saved before it overwrote it, null if the document was deleted then; undefined if
   * nothing was saved. Called only for writes that were not recorded.
   */
  savedVersion?(path: string): Promise<Version | null | undefined>;
  /** Called before every request, also repeated ones. Throws when another worker has taken over. */
  beforeSend?(): void | Promise<void>;
  /** `replace` overwrites exactly the version found; `conflict` and `skip` leave it and count it as such. */
  onMismatch(mismatch: Mismatch): Promise<'replace' | 'conflict' | 'skip'>;
  /** The outcomes of the records in order; awaited before onProgress includes them. */
  onSettled(outcomes: readonly WriteOutcome[]): void | Promise<void>;
  /**
   * The work has ended with an error, and no request is in progress. True when onSettled was told everything that was
   * written; false when something may have been written that it was not told.
   */
  onBrokenOff?(isReported: boolean): void;
}

export interface Mismatch {
  readonly path: string;
  readonly kind: RecordKind;
  /** The document as it is now; null when there is none. */
  readonly found: Uint8Array | null;
}

export interface WriteOutcome {
  readonly path: string;
  readonly kind: RecordKind;
  readonly result: 'written' | 'skipped' | 'conflict' | 'failed';
  /** The version that was overwritten, null if there was none, undefined if nobody asked. */
  readonly replaced: Version | null | undefined;
  /** The resulting version; null after a delete, or if nothing was written. */
  readonly version: Version | null;
}

export interface ApplyCounts {
  readonly written: number;
  readonly skipped: number;
  readonly deleted: number;
  readonly failed: number;
  /** Documents left alone because somebody changed them. */
  readonly conflicts: number;
  /** Bytes of the writes that were acknowledged. */
  readonly bytes: number;
}

export interface ApplyProgress extends ApplyCounts {
  /** Every record up to and including this path has been settled (done, skipped, or failed for good). */
  readonly settledThrough: string;
  /** How many records, counted from the beginning without a gap, are settled. */
  readonly settledRecords: number;
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
