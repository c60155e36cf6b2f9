import type { Instant } from './instant.ts';
import { comparePaths, type PathRange } from './path-order.ts';
import type { RecordBatch } from './record.ts';

/** Which documents are meant. Plain JSON: it is part of jobs and manifests. */
export interface Scope {
  // `all`, or collections by their paths: `users`, `users/ada/orders`, or `users/*/orders` for those of every user.
  readonly collections: 'all' | readonly string[];
  /** Whether documents below the collections' documents are included. `all` without them means the root collections. */
  readonly includeSubcollections: boolean;
  /** Collection paths left out, always with everything below them. */
  readonly excludeCollections: readonly string[];
  /** Exactly these documents, in path order; then the collections mean nothing. */
  readonly documents?: readonly string[];
}

/** Exactly these documents, in the order of paths. */
export function documentsScope(paths: readonly string[]): Scope {
  const documents = [...new Set(paths)].sort(comparePaths);
  return { collections: [], includeSubcollections: false, excludeCollections: [], documents };
}

export const wholeDatabase: Scope = { collections: 'all', includeSubcollections: true, excludeCollections: [] };

/**
 * A database that can be read as of one instant. Obligations of every implementation:
 * - Streams ascend by path, hold every document of range and scope exactly once as of readTime, documents under missing
 *   parents too, and no other. A broken connection continues behind the last record at the same readTime, unseen.
 * - Document bytes pass through as received. Backpressure: nothing is read ahead beyond a few batches.
 * - Errors are EngineErrors with SOURCE_* codes or SNAPSHOT_TOO_OLD; what may pass was retried with jitter in a budget.
 * - An aborted signal ends every call promptly with CANCELLED.
 */
export interface DocumentSource {
  /** `projects/{project}/databases/{database}`. */
  readonly database: string;

  /** An instant that is readable now and, by the database's own clock, not in the future. */
  snapshotTime(options?: SnapshotOptions): Promise<Instant>;

  /** The earliest time that can be read at present. */
  earliestReadTime(options?: SourceCallOptions): Promise<Instant>;

  /** Ids of the collections directly below a document path, or of the root collections for ''. */
  listCollectionIds(parentPath: string, options: ReadOptions): AsyncIterable<string>;

  /**
   * Disjoint ascending ranges that together cover the scope: about `targetRanges` of similar size. `previousCuts` are
   * the range bounds of an earlier backup, the cheapest good guess. Plain JSON, for a worker on another machine.
   */
  planRanges(request: PlanRequest): Promise<PathRange[]>;

  scan(range: PathRange, options: ScanOptions): AsyncIterable<RecordBatch>;

  /** The named documents in path order: puts for existing documents, deletes (missing at readTime) for the others. */
  fetch(paths: readonly string[], options: ReadOptions): AsyncIterable<RecordBatch>;

  /** The source's own count of what scan would return: aggregation, not a scan. */
  count(range: PathRange, options: ScopedReadOptions): Promise<number>;

  /** What this source has read so far, to show the cost. */
  readonly usage: SourceUsage;

  close(): Promise<void>;
}

export interface SourceCallOptions {
  readonly signal?: AbortSignal;
}

export interface SnapshotOptions extends SourceCallOptions {
  /**
   * For long work: an instant that stays readable as long as the database keeps its history. It may be up to a minute
   * ago, so it is not for callers that must see the newest writes.
   */
  readonly isLasting?: boolean;
}

export interface ReadOptions extends SourceCallOptions {
  readonly readTime: Instant;
}

export interface ScopedReadOptions extends ReadOptions {
  readonly scope: Scope;
  /** Only what comes behind this path: how a range goes on after a checkpoint. */
  readonly after?: string;
  /** Ids of collections known to be in use, so that a count by collection groups misses none of them. */
  readonly collectionIds?: readonly string[];
}

export interface ScanOptions extends ScopedReadOptions {
  /** Documents carry name and times, no fields: what an incremental backup compares. */
  readonly namesOnly?: boolean;
}

export interface PlanRequest extends ScopedReadOptions {
  readonly targetRanges: number;
  readonly previousCuts?: readonly string[];
}

export interface SourceUsage {
  readonly documentsRead: number;
  readonly bytesReceived: number;
  readonly documentsWritten: number;
  readonly documentsDeleted: number;
}
