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
  /** Changes after this instant; the snapshot time of the base backup, or the end of the log. */
  readonly from: Instant;
  readonly scope: Scope;
  /** What the last batch of an earlier capture said about its end, so that this one resumes where it stopped. */
  readonly position?: CapturePosition;
  /**
   * Names of all documents at `at`, ascending, where `at` is always the end of the last batch that was handed over.
   * Asked when deletions have to be found. Absent: they cannot be, and gaps carry `deletionsUnknown`.
   */
  readonly knownNames?: (at: Instant) => AsyncIterable<RecordBatch>;
  /** Without a position: `from` is no mark, as in one. */
  readonly isBetweenMarks?: boolean;
  /** Ids of the collections that exist at `from`, when the caller knows them: saves looking for them. */
  readonly knownCollectionIds?: readonly string[];
  /** A batch is closed after this long even when small, so that the covered time moves on. */
  readonly batchIntervalMs?: number;
  readonly batchBytesMax?: number;
  /** An interruption longer than this is a gap. */
  readonly exactWithinMs?: number;
  /** Asks for the end: what was heard until then is handed over, and nothing more follows. */
  readonly ending?: AbortSignal;
  /** Documents that scans and repeated listening may read within an hour; then capture waits, and the gap grows. */
  readonly readsPerHourMax?: number;
  /** What earlier captures of the database have read of that budget; and where it is told when more of it is. */
  readonly spentReads?: readonly SpentReads[];
  readonly onSpent?: (spent: SpentReads) => void;
}

/** Plain JSON, by the clock of the process. */
export interface SpentReads {
  readonly at: string;
  readonly reads: number;
}

/** Plain JSON; belongs to the end of the batch it came with. */
export interface CapturePosition {
  readonly collectionIds: readonly string[];
  /** The last instant at which it was proved that no document lies in another collection. */
  readonly provedThrough: Instant;
  /** Base64; null when only the instant is known. */
  readonly resumeToken: string | null;
  /** The end is no mark: some of what happened before it is told behind it, and whoever goes on from here has to find that out. */
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
  /** At both ends the database is the same: only what came and went in between is not known. */
  readonly isQuiet?: true;
  /** No longer than is promised: every instant inside can be reached, but nothing leads on from what was read inside. */
  readonly isBrief?: true;
}
