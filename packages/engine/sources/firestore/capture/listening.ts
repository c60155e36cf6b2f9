/**
 * All Listen streams of one connection attempt. Collects their changes; the oldest of their snapshots is the covered
 * time.
 */

import { type Instant, isEngineError, type SourceCallOptions } from '../../../ports/index.ts';
import { Wake } from '../../../time/wake.ts';
import type { FirestoreClient } from '../client.ts';
import { sourceFailure } from '../failures.ts';
import { GrpcError, grpcCode } from '../transport/status.ts';
import type { BloomFilter } from './bloom-filter.ts';
import { PendingChanges } from './changes.ts';
import { type ListenHandlers, ListenStream, type StartPoint } from './listen-stream.ts';

/** Marks kept between two batches. Fewer marks only mean fewer exact instants. */
const marksMax = 2_000;

/** Listening can no longer tell the changes since the starting point; a scan must close the gap. */
export class CatchUpNeeded extends Error {}

export interface ListeningLimits {
  /** Bytes that may wait, for a snapshot or for the previous batch to be stored. */
  readonly pendingBytesMax: number;
  /** Whether the previous batch is still being stored. */
  readonly isHandingOver: () => boolean;
  readonly targetsPerStream: number;
  /** A stream that says nothing for so long is asked. */
  readonly askAfterMs: number;
}

export class Listening {
  readonly #client: FirestoreClient;
  readonly #abort = new AbortController();
  readonly #signal: AbortSignal;
  readonly #wake = new Wake();
  readonly #streams: ListenStream[] = [];
  readonly #limits: ListeningLimits;
  #marks: Instant[] = [];
  #error: unknown;
  readonly pending = new PendingChanges();

  constructor(client: FirestoreClient, { signal }: SourceCallOptions, limits: ListeningLimits) {
    this.#client = client;
    this.#limits = limits;
    this.#signal = signal === undefined ? this.#abort.signal : AbortSignal.any([signal, this.#abort.signal]);
  }

  async listenTo(group: string, start: StartPoint): Promise<void> {
    (await this.#streamWithRoom()).addGroup(group, start);
  }

  /** The instant up to which every stream is complete; undefined while one is still catching up. */
  get snapshotTime(): Instant | undefined {
    let oldest: Instant | undefined;
    for (const { snapshotTime } of this.#streams) {
      if (snapshotTime === undefined) return undefined;
      if (oldest === undefined || snapshotTime < oldest) oldest = snapshotTime;
    }
    return oldest;
  }

  get streamCount(): number {
    return this.#streams.length;
  }

  /** Instants up to `through` at which every stream was complete, once. */
  takeMarks(through: Instant): Instant[] {
    // With several streams only aligned instants are exact.
    const taken = this.#streams.length > 1 ? [] : this.#marks.filter((mark) => mark < through);
    this.#marks = this.#marks.filter((mark) => mark > through);
    return [...taken, through];
  }

  /** One token cannot represent several streams with different snapshots. */
  get resumeToken(): Buffer | undefined {
    return this.#streams.length === 1 ? this.#streams[0]!.resumeToken : undefined;
  }

  takeNamesOf(group: string): BloomFilter | undefined {
    for (const stream of this.#streams) {
      const names = stream.takeNamesOf(group);
      if (names !== undefined) return names;
    }
    return undefined;
  }

  /** Waits for new data; throws when a stream has ended. */
  async wait(timeoutMs: number): Promise<void> {
    if (this.#error === undefined) await this.#wake.sleep(timeoutMs);
    if (this.#error !== undefined) throw this.#error;
  }

  /** Wakes the waiting loop. */
  wake(): void {
    this.#wake.wake();
  }

  /** The previous batch is stored. */
  resume(): void {
    for (const stream of this.#streams) stream.resume();
  }

  close(): void {
    this.#abort.abort();
    for (const stream of this.#streams) stream.close();
  }

  async #streamWithRoom(): Promise<ListenStream> {
    const last = this.#streams.at(-1);
    if (last !== undefined && last.targetCount < this.#limits.targetsPerStream) return last;
    const handlers: ListenHandlers = {
      onChange: (change) => {
        this.pending.add(change);
        this.#bound();
      },
      onSnapshot: () => {
        this.#noteMark();
        this.#wake.wake();
      },
      onEnd: (error) => {
        this.#error ??= error;
        this.#wake.wake();
      },
    };
    const stream = new ListenStream(this.#client, handlers, this.#limits.askAfterMs);
    await stream.open(this.#signal);
    this.#streams.push(stream);
    return stream;
  }

  /**
   * While storing is slow, reading pauses and the database keeps the changes. Changes that no snapshot completes are
   * left to a scan.
   */
  #bound(): void {
    const { pendingBytesMax, isHandingOver } = this.#limits;
    const { bytes } = this.pending;
    if (isHandingOver() && bytes >= pendingBytesMax / 2) for (const stream of this.#streams) stream.pause();
    if (bytes < pendingBytesMax) return;
    this.#error ??= new CatchUpNeeded('more changed than can be held until it is complete');
    this.close();
    this.#wake.wake();
  }

  #noteMark(): void {
    const mark = this.snapshotTime;
    const last = this.#marks.at(-1);
    if (mark === undefined || (last !== undefined && mark <= last)) return;
    if (this.#marks.length >= marksMax) this.#marks = this.#marks.filter((_, index) => index % 2 === 1);
    this.#marks.push(mark);
  }
}

/** Errors after which listening on from the same point cannot work. */
export function needsCatchUp(error: unknown): boolean {
  if (error instanceof CatchUpNeeded) return true;
  if (error instanceof GrpcError && error.code === grpcCode.OUT_OF_RANGE) return true;
  return isEngineError(sourceFailure(error), 'SNAPSHOT_TOO_OLD');
}
