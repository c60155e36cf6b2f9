import type { Selection } from '../view/selection.ts';
import type { View, ViewEntry } from '../view/view.ts';

/**
 * Says of subcollections whether a view that was made of a file has documents of them: `users/{any}/orders` in its manifest are
 * the orders of some users, and those of all others are none of its business. Asked in the order of paths, beside a walk
 * over the view.
 */
export class HeldCollections {
  readonly #view: View;
  readonly #after: string | undefined;
  /** Single documents are asked about, and the walk passes nothing that lies around them. */
  readonly #isPicked: boolean;
  /** By depth the collection of the last document that the walk has passed. */
  readonly #passed: string[] = [];
  #asked: { collection: string; isHeld: boolean } | undefined;

  constructor(view: View, { after, scope }: Selection) {
    this.#view = view;
    this.#after = after;
    this.#isPicked = scope?.documents !== undefined;
  }

  pass(path: string): void {
    this.#passed[depthOf(path)] = collectionOf(path);
  }

  /** Whether a document that is not in the view lies in a collection that is; `next` is where the walk stands, behind it. */
  async holds(path: string, next: ViewEntry | undefined, signal: AbortSignal | undefined): Promise<boolean> {
    const collection = collectionOf(path);
    if (!collection.includes('/') && !this.#isPicked) return true;
    if (this.#passed[depthOf(path)] === collection) return true;
    if (next !== undefined && collectionOf(next.path) === collection) return true;
    // Everything in and below a collection stands together: without one of them around here there is none.
    const isNear = [next?.path, this.#after].some((one) => one?.startsWith(`${collection}/`));
    if (!isNear && !this.#isPicked) return false;
    if (this.#asked?.collection !== collection)
      this.#asked = { collection, isHeld: await this.#hasAny(collection, signal) };
    return this.#asked.isHeld;
  }

  async #hasAny(collection: string, signal: AbortSignal | undefined): Promise<boolean> {
    const scope = { collections: [collection], includeSubcollections: false, excludeCollections: [] };
    for await (const page of this.#view.entries({ scope }, signal ? { signal } : {})) if (page.length > 0) return true;
    return false;
  }
}

function collectionOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

function depthOf(path: string): number {
  return path.split('/').length;
}
