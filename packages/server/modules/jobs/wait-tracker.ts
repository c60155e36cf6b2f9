import { EngineError, type WaitListener } from '@holdfast/engine';
import { Problem } from '../../platform/problem.ts';

const lengthMax = 500;
const subjects: readonly [RegExp, string][] = [
  [/^STORAGE_/, 'the storage destination'],
  [/^RESTORE_/, 'the target database'],
  [/^(SOURCE_|SNAPSHOT_)/, 'the database'],
];

/** Slower transfers do not count as progress. */
const bytesPerMsMin = 256;

/** What running work waits for during retries, shown in its record, and how long it has had no answer. */
export class WaitTracker implements WaitListener {
  /** Undefined: it never waited, so there is nothing to report. */
  #sentence: string | null | undefined;
  #sinceMs: number | undefined;
  /** Requests that are open now. */
  #requests = 0;
  /** Until this time requests were answered, or no answer was due yet. */
  #aliveAtMs = 0;

  /** Takes a reason to wait, or undefined once the work goes on. */
  hear(reason: unknown): void {
    this.#sentence = reason === undefined ? null : sentenceOf(reason);
    this.#sinceMs = reason === undefined ? undefined : (this.#sinceMs ?? performance.now());
  }

  /** How long the open requests have had no answer. Transferred bytes count as an answer if their rate is decent. */
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

  /** How long it has waited without progress. */
  get lastedMs(): number {
    return this.#sinceMs === undefined ? 0 : performance.now() - this.#sinceMs;
  }

  /** The sentence to show; null when the wait is over, undefined when nothing changed. */
  take(): string | null | undefined {
    const sentence = this.#sentence;
    if (sentence === null) this.#sentence = undefined;
    return sentence;
  }
}

export function sentenceOf(reason: unknown): string {
  if (!(reason instanceof EngineError || reason instanceof Problem))
    return 'Another try, because something failed in the service itself.';
  const subject = subjects.find(([pattern]) => pattern.test(reason.code))?.[1] ?? 'another try';
  return `Waiting for ${subject}: ${reason.message}`.slice(0, lengthMax);
}
