/** All Listen streams of one connection attempt: changes gather, and the oldest of their snapshots is what is covered. */

import { type CaptureOptions, type Instant, isEngineError } from '../../../ports/index.ts';
import type { FirestoreClient } from '../client.ts';
import { sourceFailure } from '../failures.ts';
import { countGroup } from '../scan/count.ts';
import { GrpcError, grpcCode } from '../transport/status.ts';
import { Bell } from './bell.ts';
import { PendingChanges } from './changes.ts';
import { CatchUpNeeded, ListenStream, type StartPoint } from './listen-stream.ts';

export class Listening {
  readonly #client: FirestoreClient;
  readonly #abort = new AbortController();
  readonly #signal: AbortSignal;
  readonly #bell = new Bell();
  readonly #streams: ListenStream[] = [];
  /** From here on somebody should look, snapshot or not. */
  readonly #wakeBytes: number;
  #error: unknown;
  readonly pending = new PendingChanges();

  constructor(client: FirestoreClient, options: CaptureOptions, wakeBytes: number) {
    this.#client = client;
    this.#wakeBytes = wakeBytes;
    this.#signal =
      options.signal === undefined ? this.#abort.signal : AbortSignal.any([options.signal, this.#abort.signal]);
  }

  async listenTo(groups: readonly string[], start: StartPoint): Promise<void> {
    for (const group of groups) (await this.#streamWithRoom()).addGroup(group, start);
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

  /** One token cannot stand for several streams whose snapshots differ. */
  get resumeToken(): Buffer | undefined {
    return this.#streams.length === 1 ? this.#streams[0]!.resumeToken : undefined;
  }

  /** Waits for news; throws when a stream has ended. */
  async wait(timeoutMs: number): Promise<void> {
    if (this.#error === undefined) await this.#bell.wait(timeoutMs);
    if (this.#error !== undefined) throw this.#error;
  }

  /** A count the server sent must follow from what it told us; if not, deletions were kept from us. */
  async checkAnnouncedCounts(): Promise<void> {
    for (const stream of this.#streams) {
      for (const { group, since, count, heardDifference } of stream.takeAnnouncedCounts()) {
        const before = await countGroup(this.#client, group, { readTime: since, signal: this.#signal });
        if (before + heardDifference !== count) {
          throw new CatchUpNeeded(
            `the server counts ${count} documents in "${group}", not ${before + heardDifference}`,
          );
        }
      }
    }
  }

  close(): void {
    this.#abort.abort();
    for (const stream of this.#streams) stream.close();
  }

  async #streamWithRoom(): Promise<ListenStream> {
    const last = this.#streams.at(-1);
    if (last?.hasRoom) return last;
    const stream = new ListenStream(this.#client, {
      onChange: (change) => {
        this.pending.add(change);
        if (this.pending.bytes >= this.#wakeBytes) this.#bell.ring();
      },
      onSnapshot: () => this.#bell.ring(),
      onEnd: (error) => {
        this.#error ??= error;
        this.#bell.ring();
      },
    });
    await stream.open(this.#signal);
    this.#streams.push(stream);
    return stream;
  }
}

/** Errors after which listening on from the same point cannot work. */
export function needsCatchUp(error: unknown): boolean {
  if (error instanceof CatchUpNeeded) return true;
  if (error instanceof GrpcError && error.code === grpcCode.OUT_OF_RANGE) return true;
  return isEngineError(sourceFailure(error), 'SNAPSHOT_TOO_OLD');
}
