import type { BlobStore } from '../../ports/blob-store.ts';
import type { Instant } from '../../ports/instant.ts';
import type { SegmentCodec } from '../segments/segment-codec.ts';
import type { BackupReader } from '../view/backup-reader.ts';
import { sortRecords } from '../view/sorted-runs.ts';
import { View } from '../view/view.ts';
import { assertReachable, type LogCoverage } from './log-coverage.ts';
import type { LogReader } from './log-reader.ts';

export interface ViewAtOptions {
  /** The chain to start from, oldest first. */
  readonly chain: readonly BackupReader[];
  readonly log: LogReader;
  readonly instant: Instant;
  readonly scratch: BlobStore;
  readonly codec: SegmentCodec;
  /** Given by a caller that knows it, so that the log is not read twice. */
  readonly coverage?: LogCoverage;
  /** The segments that are needed, when the caller has a catalogue. */
  readonly segmentKeys?: readonly string[];
  readonly signal?: AbortSignal;
}

/** The database at an instant: the chain with the captured changes up to then. */
export async function viewAt({
  chain,
  log,
  instant,
  scratch,
  codec,
  coverage,
  segmentKeys,
  signal,
}: ViewAtOptions): Promise<View> {
  const newest = chain.at(-1)!;
  const call = signal ? { signal } : {};
  const { snapshotTime, database } = newest.body;
  assertReachable(instant, newest.body, coverage ?? (await log.coverage(call)));
  const changes = log.changes(snapshotTime, instant, { ...call, ...(segmentKeys ? { keys: segmentKeys } : {}) });
  const layers = await sortRecords(changes, { database, scratch, codec, ...call });
  return new View(database, [...chain, ...layers]);
}
