import type { ServerResponse } from 'node:http';
import { Problem } from '../platform/problem.ts';

/** Smaller answers are not counted. */
const largeLength = 256 * 1024;
const lengthMax = 64 * 1024 * 1024;

/**
 * Large answers wait in the memory of everybody until they are taken, which takes as long as whoever asked likes. So an
 * organization, and a person in all their organizations together, have so much on its way at once.
 */
export class AnswersUnderWay {
  /** By organization or address, and by person. */
  readonly #lengths = new Map<string, number>();

  /** Counts an answer until it was taken; throws RATE_LIMITED where it finds no room. One alone always does. */
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
