import { crc32 } from 'node:zlib';
import { type Instant, instantFromParts } from '../../ports/instant.ts';
import { comparePaths } from '../../ports/path-order.ts';
import { type RecordBatch, recordKind } from '../../ports/record.ts';
import { type ReadRecord, readRecords } from '../segments/read-records.ts';
import { RecordBatchBuilder } from '../segments/record-batch-builder.ts';
import type { LogStretch } from './log-coverage.ts';

/** What the server keeps about a log segment. Plain JSON. */
export interface LogSegment extends LogStretch {
  readonly key: string;
  readonly sequence: number;
  readonly changes: number;
  readonly deletes: number;
  /** Changes per collection id. */
  readonly collections: Readonly<Record<string, number>>;
  /**
   * Hashes of the documents that it may contain, each once: so the history of one document is found without reading the
   * whole log.
   */
  readonly pathHashes: readonly number[];
  readonly storedBytes: number;
  /** The last exact instant before the first of its deletions; null when it has none. */
  readonly beforeDeletes: Instant | null;
}

export type SegmentContents = Pick<LogSegment, 'changes' | 'deletes' | 'collections' | 'pathHashes' | 'beforeDeletes'>;

/** Sorts records, which arrive in commit order, by path and then by time. */
export function sortedByPath(batch: RecordBatch | null, database: string): Uint8Array {
  const records: ReadRecord[] = batch === null ? [] : [...readRecords(batch, database)];
  records.sort(
    (left, right) =>
      comparePaths(left.path, right.path) ||
      left.updateSeconds - right.updateSeconds ||
      left.updateNanos - right.updateNanos,
  );
  const builder = new RecordBatchBuilder();
  for (const { kind, path, body } of records) builder.add(kind, path, body);
  return builder.isEmpty ? new Uint8Array(0) : builder.take().bytes;
}

/** What a segment contains, from its records. */
export function contentsOf(data: Uint8Array, database: string, stretch: LogStretch): SegmentContents {
  // A Map and not an object: a collection may be named like a property that every object has.
  const collections = new Map<string, number>();
  const hashes = new Set<number>();
  let changes = 0;
  let deletes = 0;
  let firstDelete: Instant | undefined;
  for (const { kind, path, updateSeconds, updateNanos } of readRecords({ bytes: data }, database)) {
    const id = path.split('/').at(-2)!;
    collections.set(id, (collections.get(id) ?? 0) + 1);
    hashes.add(pathHash(path));
    changes += 1;
    if (kind !== recordKind.delete) continue;
    deletes += 1;
    const at = instantFromParts(updateSeconds, updateNanos);
    if (firstDelete === undefined || at < firstDelete) firstDelete = at;
  }
  const beforeDeletes = firstDelete === undefined ? null : lastExactBefore(firstDelete, stretch);
  return {
    changes,
    deletes,
    collections: Object.fromEntries(collections),
    pathHashes: [...hashes],
    beforeDeletes,
  };
}

/** Inside a gap nothing is exact; then it is the beginning of the gap. */
function lastExactBefore(instant: Instant, { coveredFrom, marks, gap }: LogStretch): Instant {
  if (gap !== null && !gap.isBrief && gap.from < instant) return gap.from;
  return marks.findLast((mark) => mark < instant) ?? coveredFrom;
}

/** 32 bits, signed. Two documents rarely share a hash, and then one segment is read in vain. */
export function pathHash(path: string): number {
  return crc32(path) | 0;
}
