/**
 * The contents of a group for a server that sends the whole group again after every change instead of the change
 * itself. Deleted documents are those that are missing in it. Google's emulator does this.
 */

import { type Instant, instantFromParts, instantToParts, recordKind } from '../../../ports/index.ts';
import type { Change } from './changes.ts';

/** For a larger group a scan finds the same and needs less memory. */
const documentsMax = 200_000;
const microsecondNanos = 1_000;
const secondNanos = 1_000_000_000;

interface Gone {
  readonly path: string;
  readonly at: Instant;
}

export class ResentState {
  /** Before the first complete state: documents written up to here were known before. */
  readonly #since: Instant;
  /** Path of each document to its update time; undefined until the first state is whole. */
  #held: Map<string, Instant> | undefined;
  #coming: Map<string, Instant> | undefined;
  /** The last instant at which the kept state was complete. */
  #wholeAt: Instant;

  constructor(since: Instant) {
    this.#since = since;
    this.#wholeAt = since;
  }

  get isTooLarge(): boolean {
    return (this.#coming?.size ?? 0) > documentsMax || (this.#held?.size ?? 0) > documentsMax;
  }

  /** Everything that the group holds is sent between this call and `complete`. */
  begin(): void {
    this.#coming = new Map();
  }

  /** Returns whether it is a change. */
  hear({ kind, path, at }: Change): boolean {
    const current = this.#coming ?? this.#held;
    if (kind === recordKind.delete) {
      current?.delete(path);
      return true;
    }
    const isNews = this.#held === undefined ? at > this.#since : this.#held.get(path) !== at;
    current?.set(path, at);
    return isNews;
  }

  /**
   * Documents that were there before and were not sent again. A deletion gets the earliest possible time: the server
   * does not say when, and a document that was created again has the time of that, which must be later.
   */
  complete(): Gone[] {
    const [held, coming] = [this.#held, this.#coming];
    if (coming === undefined) return [];
    this.#held = coming;
    this.#coming = undefined;
    const gone: Gone[] = [];
    for (const [path, updatedAt] of held ?? []) {
      if (!coming.has(path)) gone.push({ path, at: justAfter(laterOf(updatedAt, this.#wholeAt)) });
    }
    return gone;
  }

  /** Everything up to this time is known. */
  snapshot(at: Instant): void {
    if (this.#coming === undefined && at > this.#wholeAt) this.#wholeAt = at;
  }
}

function laterOf(one: Instant, other: Instant): Instant {
  return one > other ? one : other;
}

function justAfter(instant: Instant): Instant {
  const { seconds, nanos } = instantToParts(instant);
  return nanos + microsecondNanos < secondNanos
    ? instantFromParts(seconds, nanos + microsecondNanos)
    : instantFromParts(seconds + 1, 0);
}
