import { recordKind, type WriteOutcome } from '@holdfast/engine';
import type { Written } from '../tables.ts';

const collectionsMax = 10_000;

/**
 * Collections that something was written into. All documents of a collection lie in one stretch of the order, so another
 * writer, or a later run, can meet it again only where a border lies inside of it: those are kept by name, the others as a number.
 */
export class CollectionCount {
  readonly #closed: number;
  readonly #seen: Set<string>;
  readonly #known = new Set<string>();

  constructor({ collections, openCollections }: Pick<Written, 'collections' | 'openCollections'>) {
    this.#closed = collections;
    this.#seen = new Set(openCollections);
  }

  /** Those that were counted elsewhere. */
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

  /** Those that do not hold a border as a number, those that do by name. */
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
