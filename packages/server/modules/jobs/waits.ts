import { EngineError, type WaitListener } from '@holdfast/engine';
import { Problem } from '../../platform/problem.ts';

const lengthMax = 500;
const subjects: readonly [RegExp, string][] = [
  [/^STORAGE_/, 'the storage destination'],
  [/^RESTORE_/, 'the target database'],
  [/^(SOURCE_|SNAPSHOT_)/, 'the database'],
];

/** What moves more slowly does not count as moving. */
const bytesPerMsMin = 256;

/** What work waits for while something is tried again, for the record of its job; and for how long nothing has answered it. */
export class Waits implements WaitListener {
  /** Undefined: it never waited, and has nothing to say. */
  #sentence: string | null | undefined;
  #sinceMs: number | undefined;
  /** Under way at this moment. */
  #requests = 0;
  /** Up to here its requests were answered, or could not have been yet. */
  #aliveAtMs = 0;

  /** A reason, or undefined once the work goes on. */
  hear(reason: unknown): void {
    this.#sentence = reason === undefined ? null : sentenceOf(reason);
    this.#sinceMs = reason === undefined ? undefined : (this.#sinceMs ?? performance.now());
  }

  /** How long nothing was answered of what it asks. Bytes on their way count as far as they come at a decent rate. */
  get silentMs(): number {
    return this.#requests === 0 ? 0 : Math.max(0, performance.now() - this.#aliveAtMs);
  }

  began(bytesToSend: number): (isAnswered: boolean) => void {
    const nowMs = performance.now();
    if (this.#requests === 0) this.#aliveAtMs = nowMs;
    this.#requests++;
    this.#lives(nowMs + bytesToSend / bytesPerMsMin, bytesToSend > 0);
    return (isAnswered) => {
      this.#requests--;
      this.#lives(performance.now(), isAnswered);
    };
  }

  arrived(bytes: number): void {
    this.#lives(Math.min(performance.now(), this.#aliveAtMs + bytes / bytesPerMsMin), true);
  }

  #lives(atMs: number, isSign: boolean): void {
    if (isSign) this.#aliveAtMs = Math.max(this.#aliveAtMs, atMs);
  }

  /** How long it has waited without going on. */
  get lastedMs(): number {
    return this.#sinceMs === undefined ? 0 : performance.now() - this.#sinceMs;
  }

  /** The sentence, null after the wait is over, undefined when there is nothing new. */
  take(): string | null | undefined {
    const told = this.#sentence;
    if (told === null) this.#sentence = undefined;
    return told;
  }
}

export function sentenceOf(reason: unknown): string {
  if (!(reason instanceof EngineError || reason instanceof Problem))
    return 'Another try, because something failed in the service itself.';
  const subject = subjects.find(([pattern]) => pattern.test(reason.code))?.[1] ?? 'another try';
  return `Waiting for ${subject}: ${reason.message}`.slice(0, lengthMax);
}
