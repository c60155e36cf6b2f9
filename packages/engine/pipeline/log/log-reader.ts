import type { Envelope } from '../../crypto/envelope.ts';
import type { KeyRing } from '../../crypto/key-ring.ts';
import type { JoinedTime, LogManifestBody } from '../../format/manifest-body.ts';
import { ManifestObject, manifestContent } from '../../format/manifest-object.ts';
import {
  instantDigits,
  isOwnerId,
  logManifestKey,
  logSegmentStart,
  logSegmentsPrefix,
} from '../../format/object-keys.ts';
import { openUndescribedSegment, type SealContext } from '../../format/segment.ts';
import { segmentContent } from '../../format/segment-header.ts';
import type { BlobStore, CallOptions } from '../../ports/blob-store.ts';
import { EngineError, isEngineError } from '../../ports/errors.ts';
import { type Instant, instantFromParts } from '../../ports/instant.ts';
import { recordKind } from '../../ports/record.ts';
import { mapAhead } from '../../time/map-ahead.ts';
import { type ReadRecord, readRecords } from '../segments/read-records.ts';
import { coverageOf, type LogCoverage, type LogStretch } from './log-coverage.ts';
import { contentsOf, type LogSegment } from './log-segment.ts';
import { decodeStretch } from './log-stretch.ts';

export interface OpenedLogSegment extends LogStretch {
  readonly key: string;
  readonly storedBytes: number;
  readonly sequence: number;
  readonly data: Uint8Array;
}

export interface LogReadOptions extends CallOptions {
  /** The segments to read, in order of time, when a catalogue knows them; absent: the store is listed. */
  readonly keys?: readonly string[];
}

/** Segments fetched at a time; each is a few MiB at most. */
const readAheadMax = 6;

/** One captured version of a document. */
export interface DocumentVersion {
  readonly time: Instant;
  /** Undefined: the document was deleted. */
  readonly bytes: Uint8Array | undefined;
}

/** A log, opened: its segments in the order of time. */
export class LogReader {
  readonly context: SealContext;
  readonly #store: BlobStore;

  /** For a caller that already has the log's key. */
  constructor(store: BlobStore, context: SealContext) {
    this.#store = store;
    this.context = context;
  }

  static async open(store: BlobStore, logId: string, keys: KeyRing, options: CallOptions = {}): Promise<LogReader> {
    return (await openLogManifest(store, logId, keys, options)).reader;
  }

  /** Describes every segment for a catalogue, ordered by beginning. Damaged segments count as missing. */
  async *describe(options: LogReadOptions = {}): AsyncGenerator<LogSegment> {
    const keys = options.keys ?? this.#listed(null, options);
    for await (const segment of mapAhead(keys, readAheadMax, (key) => this.#describe(key, options)))
      if (segment) yield segment;
  }

  async #describe(key: string, options: CallOptions): Promise<LogSegment | undefined> {
    try {
      const { data, ...segment } = await this.#open(key, await this.#store.get(key, options));
      return { ...segment, ...contentsOf(data, this.context.database, segment) };
    } catch (error) {
      if (isEngineError(error, 'INTEGRITY_ERROR')) return undefined;
      throw error;
    }
  }

  /** Segments that may hold changes after `from` and up to `through`, by the end of their stretch. */
  async *segments(
    from: Instant | null,
    through: Instant | null,
    options: LogReadOptions = {},
  ): AsyncGenerator<OpenedLogSegment> {
    const keys = options.keys ?? this.#listed(through, options);
    const signal = options.signal ? { signal: options.signal } : {};
    const read = async (key: string) => this.#open(key, await this.#store.get(key, signal));
    for await (const segment of inOrder(mapAhead(keys, readAheadMax, read))) {
      if (from === null || segment.coveredThrough > from) yield segment;
    }
  }

  async *#listed(through: Instant | null, options: CallOptions): AsyncGenerator<string> {
    for await (const { key } of this.#store.list(logSegmentsPrefix(this.context.ownerId), options)) {
      if (through !== null && logSegmentStart(key) > instantDigits(through)) return;
      yield key;
    }
  }

  /** Where the log covers time. Reads every segment; the server keeps the same data in its catalogue. */
  async coverage(options: CallOptions = {}): Promise<LogCoverage> {
    const stretches: LogStretch[] = [];
    for await (const { coveredFrom, coveredThrough, marks, gap } of this.segments(null, null, options))
      stretches.push({ coveredFrom, coveredThrough, marks, gap });
    return coverageOf(stretches);
  }

  /**
   * Changes with from < time ≤ through, in order. A stretch in this time may also hold older changes that were found
   * late or repaired: states made from the log before did not have them.
   */
  async *changes(from: Instant, through: Instant, options: LogReadOptions = {}): AsyncGenerator<Iterable<ReadRecord>> {
    for await (const segment of this.segments(from, through, options)) yield this.#changesIn(segment, from, through);
  }

  *#changesIn(
    { data, coveredFrom, coveredThrough }: OpenedLogSegment,
    from: Instant,
    through: Instant,
  ): Generator<ReadRecord> {
    const isWithin = coveredFrom >= from && coveredThrough <= through;
    for (const record of readRecords({ bytes: data }, this.context.database)) {
      const time = timeOf(record);
      if ((time > from || isWithin) && time <= through) yield record;
    }
  }

  /** Every captured version of one document, oldest first. */
  async history(path: string, options: LogReadOptions = {}): Promise<DocumentVersion[]> {
    const versions: DocumentVersion[] = [];
    for await (const { data } of this.segments(null, null, options)) {
      for (const record of readRecords({ bytes: data }, this.context.database)) {
        if (record.path !== path) continue;
        versions.push({
          time: timeOf(record),
          bytes: record.kind === recordKind.put ? record.body.slice() : undefined,
        });
      }
    }
    return versions.sort((left, right) => (left.time < right.time ? -1 : 1));
  }

  /** Whether these bytes are an undamaged object of this log: its manifest or a segment. */
  async isWhole(key: string, bytes: Uint8Array): Promise<boolean> {
    const { ownerId, dataKey } = this.context;
    try {
      if (key === logManifestKey(ownerId)) await new ManifestObject(bytes).open(ownerId, dataKey);
      else await this.#open(key, bytes);
      return true;
    } catch (error) {
      if (isEngineError(error, 'INTEGRITY_ERROR') || isEngineError(error, 'DECRYPTION_ERROR')) return false;
      throw error;
    }
  }

  async #open(key: string, bytes: Uint8Array): Promise<OpenedLogSegment> {
    const storedBytes = bytes.length;
    const { header, annex, data } = await openUndescribedSegment(bytes, this.context);
    if (header.content !== segmentContent.log)
      throw new EngineError('INTEGRITY_ERROR', 'A log holds a segment that is none of a log.');
    return { ...decodeStretch(annex), key, storedBytes, sequence: header.sequence, data };
  }
}

export interface OpenedLogManifest {
  readonly reader: LogReader;
  readonly body: LogManifestBody;
  readonly envelope: Envelope;
}

/** Opens a log of which only the place is known. */
export async function openLogManifest(
  store: BlobStore,
  logId: string,
  keys: KeyRing,
  options: CallOptions = {},
): Promise<OpenedLogManifest> {
  const object = new ManifestObject(await store.get(logManifestKey(logId), options));
  const { ownerId, envelope } = object.clear();
  if (object.content !== manifestContent.logRoot || ownerId !== logId)
    throw new EngineError('INTEGRITY_ERROR', 'The log belongs to another project.');
  const dataKey = await keys.unwrap(logId, envelope);
  const body = (await object.open(logId, dataKey)) as LogManifestBody;
  if (typeof body?.database !== 'string' || typeof body.from !== 'string' || !isJoined(body.joined ?? []))
    throw new EngineError('INTEGRITY_ERROR', 'The manifest of the log is not what it should be.');
  return { reader: new LogReader(store, { ownerId: logId, dataKey, database: body.database }), body, envelope };
}

/** The original logs are removed by these ids one day, so they must name nothing else. */
function isJoined(joined: readonly JoinedTime[]): boolean {
  const isText = (value: unknown) => typeof value === 'string';
  const isWhole = (one: JoinedTime) => [one?.logId, one?.from, one?.through].every(isText) && isOwnerId(one.logId);
  return Array.isArray(joined) && joined.every(isWhole);
}

/**
 * Segments are listed by their beginning but yielded by their end: a repair lies inside the stretch that was being
 * captured.
 */
async function* inOrder(segments: AsyncIterable<OpenedLogSegment>): AsyncGenerator<OpenedLogSegment> {
  let held: OpenedLogSegment | undefined;
  for await (const segment of segments) {
    if (held !== undefined && segment.coveredThrough < held.coveredThrough) yield segment;
    else {
      if (held !== undefined) yield held;
      held = segment;
    }
  }
  if (held !== undefined) yield held;
}

function timeOf({ updateSeconds, updateNanos }: ReadRecord): Instant {
  return instantFromParts(updateSeconds, updateNanos);
}
