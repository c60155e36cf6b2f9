import type { ServerResponse } from 'node:http';
import { Problem } from '../platform/problem.ts';

/** Smaller answers are not counted. */
const largeLength = 256 * 1024;
const lengthMax = 64 * 1024 * 1024;

/**
 * Large answers stay in memory until the client has read them, which may take as long as the client likes. So the
 * unread bytes of an organization, and of a person in all their organizations together, are limited.
 */
export class UnreadAnswerLimit {
  /** By organization or address, and by person. */
  readonly #lengths = new Map<string, number>();

  /**
   * Counts an answer until it was read; throws RATE_LIMITED when there is no room for it. A single answer always has
   * room.
   */
  add(owners: readonly string[], length: number, response: ServerResponse): void {
    if (length < largeLength || response.closed) return;
    const waiting = Math.max(...owners.map((owner) => this.#lengths.get(owner) ?? 0));
    if (waiting > 0 && waiting + length > lengthMax)
      throw new Problem('RATE_LIMITED', 'Many megabytes of answers of yours are on their way; take those first.', {
        retryAfterSeconds: 1,
      });
    for (const owner of owners) this.#change(owner, length);
    response.once('close', () => {
      for (const owner of owners) this.#change(owner, -length);
    });
  }

  #change(owner: string, length: number): void {
    const left = (this.#lengths.get(owner) ?? 0) + length;
    if (left > 0) this.#lengths.set(owner, left);
    else this.#lengths.delete(owner);
  }
}
