import type { Scope, SourceCallOptions } from './document-source.ts';
import type { Instant } from './instant.ts';
import type { RecordBatch } from './record.ts';

/**
 * Follows a database from a known instant. Obligations:
 * - Every batch extends the covered time: after it, every document version committed in (coveredFrom, coveredThrough]
 *   that was still current at some snapshot the listener saw is in this or an earlier batch. Batches join without a gap:
 *   coveredFrom equals the previous coveredThrough.
 * - Quick successive writes of one document may be coalesced into the last; deletions appear as deletes.
 * - After an outage the catch-up scan closes the gap in the data, and the batch says so (`gap`): the instants inside it
 *   cannot be reached, and that is shown, never papered over.
 */
export interface ChangeCapture {
  capture(options: CaptureOptions): AsyncIterable<ChangeBatch>;
}

export interface CaptureOptions extends SourceCallOptions {
  /** Changes after this instant; the snapshot time of the base backup, or the end of the log. */
  readonly from: Instant;
  readonly scope: Scope;
  /**
   * Asked during a catch-up scan for the (path, update time) pairs known at `from`, ascending, so that deletions made
   * during an outage are seen. Absent: the catch-up reports puts only and the gap carries `deletionsUnknown`.
   */
  readonly knownNames?: () => AsyncIterable<RecordBatch>;
  /** Ids of the collections that exist at `from`, when the caller knows them: saves looking for them. */
  readonly knownCollectionIds?: readonly string[];
  /** A batch is closed after this long even when small, so that the covered time moves on. */
  readonly batchIntervalMs?: number;
  readonly batchBytesMax?: number;
}

export interface ChangeBatch {
  /** Ordered by commit: update time first (see Document.update_time), path second; null when nothing changed. */
  readonly records: RecordBatch | null;
  readonly coveredFrom: Instant;
  readonly coveredThrough: Instant;
  readonly gap?: {
    readonly from: Instant;
    readonly through: Instant;
    readonly reason: string;
    readonly deletionsUnknown?: true;
  };
}
