import { recordKind, type WriteOutcome } from '@holdfast/engine';
import type { Written } from '../tables.ts';

const collectionsMax = 10_000;

/**
 * Counts collections that were written to. All documents of a collection are neighbours in path order. So another
 * writer, or a later run, can meet a collection again only where a border lies inside it. Those collections are kept by
 * name, the others only as a number.
 */
export class CollectionCount {
  readonly #closed: number;
  readonly #seen: Set<string>;
  readonly #known = new Set<string>();

  constructor({ collections, openCollections }: Pick<Written, 'collections' | 'openCollections'>) {
    this.#closed = collections;
    this.#seen = new Set(openCollections);
  }

  /** How many were counted by other runs. */
  get known(): number {
    return this.#known.size;
  }

  recall(outcome: WriteOutcome): void {
    const collection = collectionOf(outcome);
    if (collection !== undefined && this.#known.size < collectionsMax) this.#known.add(collection);
  }

  add(outcome: WriteOutcome): void {
    const collection = collectionOf(outcome);
    if (collection === undefined || this.#known.has(collection) || this.#seen.size >= collectionsMax) return;
    this.#seen.add(collection);
  }

  /** Collections without a border inside them as a number, those with one by name. */
  figures(borders: readonly (string | null)[]): Pick<Written, 'collections' | 'openCollections'> {
    const around = new Set(borders.flatMap((path) => (path === null ? [] : collectionsAround(path))));
    const openCollections = [...around].filter((collection) => this.#seen.has(collection));
    return { collections: this.#closed + this.#seen.size - openCollections.length, openCollections };
  }
}

function collectionOf({ path, kind, result }: WriteOutcome): string | undefined {
  return result === 'written' && kind === recordKind.put ? path.slice(0, path.lastIndexOf('/')) : undefined;
}

/** All collections that a document lies in: `a` and `a/b/c` for `a/b/c/d`. */
function collectionsAround(path: string): string[] {
  const segments = path.split('/');
  return Array.from({ length: segments.length >> 1 }, (_, depth) => segments.slice(0, 2 * depth + 1).join('/'));
}
