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
  /** Where several write into one database: the ramp is theirs together. Asked again and again; absent: this one writes alone. */
  readonly pace?: () => WritePace;
  readonly signal?: AbortSignal;
  /** Ends the work gently: no further record is sent, what is under way is waited for, and the result tells how far it came. */
  readonly stop?: AbortSignal;
  /** Hears what became of every record, and decides where another version is found than expected. */
  readonly guard?: WriteGuard;
  /**
   * Nothing is sent. A record that an earlier run wrote without having heard so is told as written, every other as
   * skipped. Needs a guard, and expected versions where documents may be written over.
   */
  readonly isInquiry?: boolean;
  /**
   * Called after every acknowledged stretch with the last path below which everything is done, for checkpoints, and
   * the counts so far. Awaited, so a slow checkpoint slows the apply instead of piling up.
   */
  readonly onProgress?: (progress: ApplyProgress) => void | Promise<void>;
  /**
   * Called when something behind the path that onProgress speaks of is acknowledged, or no longer is behind it. For showing
   * alone: whoever goes on behind that path writes it again, and counts it again.
   */
  readonly onAhead?: (ahead: WrittenAhead) => void;
}

/** What is in the database already, of stretches that are not settled without a hole. */
export interface WrittenAhead {
  readonly written: number;
  readonly deleted: number;
  readonly bytes: number;
}

export interface WritePace {
  /** How long ago the first of them began. */
  readonly elapsedMs: number;
  /** This one's part of the rate, of all parts together at most 1. */
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

/** Records that may be written only over the versions given here, one for each: null where no document may exist. */
export interface GuardedBatch extends RecordBatch {
  readonly expected: readonly (Version | null)[];
}

export interface WriteGuard {
  /**
   * How many records at the beginning an earlier run may have written without having heard so. A document among them that
   * has just the wanted content counts as written.
   */
  readonly repeatedRecords: number;
  /** When the work began, by the database's clock. A document that is older was not created by an earlier run. */
  readonly began?: Version | undefined;
  /** What stood there before the work began; undefined where nothing did, or nobody knows. Asked only for repeated merges. */
  former(path: string): Promise<Uint8Array | undefined>;
  /**
   * The version that an earlier run saved before it wrote over it, null where it found the document deleted; undefined if
   * neither. Asked only for what it wrote unheard.
   */
  savedVersion?(path: string): Promise<Version | null | undefined>;
  /** Before every request, repeated ones too: throws when the work is another's by now. */
  beforeSend?(): void | Promise<void>;
  /** `replace` writes over exactly the version found; `conflict` and `skip` leave it and count it as such. */
  onMismatch(mismatch: Mismatch): Promise<'replace' | 'conflict' | 'skip'>;
  /** What became of the records, in their order; awaited before onProgress speaks of them. */
  onSettled(outcomes: readonly WriteOutcome[]): void | Promise<void>;
  /**
   * The work ends with an error, and nothing of it is under way any more. True when onSettled has told of all that was written;
   * false when something may have been written that it did not tell of.
   */
  onBrokenOff?(isTold: boolean): void;
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
  /** The version that was written over, null where there was none, undefined where nobody asked. */
  readonly replaced: Version | null | undefined;
  /** The version that came of it; null after a delete, and where nothing was written. */
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
  /** How many records from the beginning are settled without a hole. */
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
