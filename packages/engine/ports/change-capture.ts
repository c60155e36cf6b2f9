import type { Scope, SourceCallOptions } from './document-source.ts';
import type { Instant } from './instant.ts';
import type { RecordBatch } from './record.ts';

/**
 * Follows a database from a known instant. Obligations:
 * - Every batch extends the covered time: batches join without a gap, coveredFrom equals the previous coveredThrough.
 * - At each of a batch's marks the state is exact: base plus all records up to the mark is the database at the mark.
 *   Between two marks quick successive writes of one document may be coalesced into the last, and a deletion may be told
 *   later than it happened, at the next mark at the latest.
 * - Nothing is believed that a server does not promise: after every interruption the database's own counts are compared
 *   with what was heard, and what was kept back is found.
 * - A stretch in which more happened than its ends tell (an outage) is named as a `gap`: instants inside it cannot be
 *   reached, and that is shown, never papered over. Behind it they can, unless `deletionsUnknown`.
 */
export interface ChangeCapture {
  capture(options: CaptureOptions): AsyncIterable<ChangeBatch>;
}

export interface CaptureOptions extends SourceCallOptions {
  /** The instant after which changes are captured: the snapshot time of the base backup, or the end of the log. */
  readonly from: Instant;
  readonly scope: Scope;
  /** The position from the last batch of an earlier capture, so that this one resumes there. */
  readonly position?: CapturePosition;
  /**
   * Names of all documents at `at`, ascending; `at` is always the end of the last batch that was handed over. Called
   * when deletions have to be found. Absent: they cannot be found, and gaps carry `deletionsUnknown`.
   */
  readonly knownNames?: (at: Instant) => AsyncIterable<RecordBatch>;
  /** Used without a position: `from` is not a mark. */
  readonly isBetweenMarks?: boolean;
  /** Ids of the collections that exist at `from`, if the caller knows them: then they need not be searched. */
  readonly knownCollectionIds?: readonly string[];
  /** A batch ends after this time even when it is small, so that the covered time advances. */
  readonly batchIntervalMs?: number;
  readonly batchBytesMax?: number;
  /** An interruption longer than this is a gap. */
  readonly exactWithinMs?: number;
  /** Asks the capture to end: what was heard until then is handed over, and nothing more follows. */
  readonly ending?: AbortSignal;
  /** Documents that scans and repeated listening may read within an hour; then capture waits, and the gap grows. */
  readonly readsPerHourMax?: number;
  /** The reads that earlier captures of the database have spent of that budget. */
  readonly spentReads?: readonly SpentReads[];
  readonly onSpent?: (spent: SpentReads) => void;
}

/** Plain JSON, by the clock of the process. */
export interface SpentReads {
  readonly at: string;
  readonly reads: number;
}

/** Plain JSON; it describes the end of the batch it came with. */
export interface CapturePosition {
  readonly collectionIds: readonly string[];
  /** The last instant at which it was proved that all documents are in these collections. */
  readonly provedThrough: Instant;
  /** Base64; null when only the instant is known. */
  readonly resumeToken: string | null;
  /**
   * The end is not a mark: some earlier changes will be reported later, and a capture that resumes here has to find
   * them.
   */
  readonly isBetweenMarks?: true;
}

export interface ChangeBatch {
  /** Ordered by commit: update time first (see Document.update_time), path second; null when nothing changed. */
  readonly records: RecordBatch | null;
  readonly coveredFrom: Instant;
  readonly coveredThrough: Instant;
  /** Ascending instants in (coveredFrom, coveredThrough] at which the state is exact. */
  readonly marks: readonly Instant[];
  readonly position: CapturePosition;
  readonly gap?: CaptureGap;
  /** Found by a scan, in place of listening. */
  readonly isScanned?: true;
}

export interface CaptureGap {
  readonly from: Instant;
  readonly through: Instant;
  readonly reason: string;
  readonly deletionsUnknown?: true;
  /** The database is the same at both ends; only documents that appeared and vanished in between are unknown. */
  readonly isQuiet?: true;
  /**
   * Short enough: every instant inside can be reached, but changes cannot be applied to a backup that was read inside.
   */
  readonly isBrief?: true;
}
