import { EngineError } from '@holdfast/engine';
import { Problem } from '../../platform/problem.ts';

const lengthMax = 500;
const subjects: readonly [RegExp, string][] = [
  [/^STORAGE_/, 'the storage destination'],
  [/^RESTORE_/, 'the target database'],
  [/^(SOURCE_|SNAPSHOT_)/, 'the database'],
];

/** What work waits for while something is tried again, for the record of its job. */
export class Waits {
  /** Undefined: it never waited, and has nothing to say. */
  #sentence: string | null | undefined;
  #sinceMs: number | undefined;

  /** A reason, or undefined once the work goes on. */
  hear(reason: unknown): void {
    this.#sentence = reason === undefined ? null : sentenceOf(reason);
    this.#sinceMs = reason === undefined ? undefined : (this.#sinceMs ?? performance.now());
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
