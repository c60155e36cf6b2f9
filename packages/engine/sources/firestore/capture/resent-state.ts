/**
 * What a group holds, as far as a server tells it by resetting: instead of each change such a server sends the group's
 * whole state anew, and what was deleted is what is missing in it. Google's emulator does so with every change.
 */

import { type Instant, instantFromParts, instantToParts, recordKind } from '../../../ports/index.ts';
import type { Change } from './changes.ts';

/** Of a larger group a scan learns the same and holds less. */
const documentsMax = 200_000;
const microsecondNanos = 1_000;
const secondNanos = 1_000_000_000;

interface Gone {
  readonly path: string;
  readonly at: Instant;
}

export class ResentState {
  /** Before the first whole state: what was written up to here was known before. */
  readonly #since: Instant;
  /** Path of each document to its update time; undefined until the first state is whole. */
  #held: Map<string, Instant> | undefined;
  #coming: Map<string, Instant> | undefined;
  /** The last instant at which what is held was all there was. */
  #wholeAt: Instant;

  constructor(since: Instant) {
    this.#since = since;
    this.#wholeAt = since;
  }

  get isTooLarge(): boolean {
    return (this.#coming?.size ?? 0) > documentsMax || (this.#held?.size ?? 0) > documentsMax;
  }

  /** From here to `complete` all that the group holds is sent. */
  begin(): void {
    this.#coming = new Map();
  }

  /** Whether it is news. */
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
   * What was there before and was not sent again. It is told as soon as it can have gone: the server does not say when, and
   * a document that was made anew meanwhile comes with the time of that, which must not lie before.
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

  /** All there was up to here is held. */
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
