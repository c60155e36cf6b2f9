/** What is known to exist: the names at the start, and the changes heard since. Bounded; says so when it overflows. */

import { comparePaths, type RecordBatch, recordKind } from '../../../ports/index.ts';
import { eachPath } from '../scan/records.ts';
import type { Change } from './changes.ts';

const heardMax = 500_000;

export class KnownPaths {
  readonly #names: (() => AsyncIterable<RecordBatch>) | undefined;
  /** Last heard of each path: true when it existed. */
  readonly #heard = new Map<string, boolean>();
  #overflowed = false;

  constructor(names: (() => AsyncIterable<RecordBatch>) | undefined) {
    this.#names = names;
  }

  /** False: a catch-up cannot see every deletion. */
  get isComplete(): boolean {
    return this.#names !== undefined && !this.#overflowed;
  }

  note(change: Change): void {
    if (this.#overflowed) return;
    this.#heard.set(change.path, change.kind === recordKind.put);
    if (this.#heard.size <= heardMax) return;
    this.#overflowed = true;
    this.#heard.clear();
  }

  /** Ascending, each once. */
  async *paths(): AsyncGenerator<string, void> {
    const heard = [...this.#heard.keys()].sort(comparePaths);
    let next = 0;
    for await (const batch of this.#names?.() ?? []) {
      for (const path of eachPath(batch)) {
        for (; next < heard.length && comparePaths(heard[next]!, path) < 0; next += 1)
          yield* this.#ifExists(heard[next]!);
        if (heard[next] === path) {
          yield* this.#ifExists(path);
          next += 1;
        } else yield path;
      }
    }
    for (; next < heard.length; next += 1) yield* this.#ifExists(heard[next]!);
  }

  *#ifExists(path: string): Generator<string, void> {
    if (this.#heard.get(path)) yield path;
  }
}
