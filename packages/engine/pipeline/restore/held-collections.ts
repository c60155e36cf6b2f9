import type { Selection } from '../view/selection.ts';
import type { View, ViewEntry } from '../view/view.ts';

/**
 * Tells whether a view that was imported from a file holds documents of a subcollection. `users/{any}/orders` in its
 * manifest means the orders of some users; nothing is known about the orders of the others. Must be asked in path
 * order, beside a walk over the view.
 */
export class HeldCollections {
  readonly #view: View;
  readonly #after: string | undefined;
  /** The scope is single documents, so the walk does not pass what lies around them. */
  readonly #isPicked: boolean;
  /** The collections of the last passed document, by depth. */
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

  /** Whether a document that is not in the view is in a collection that is; `next` is the next entry of the walk. */
  async holds(path: string, next: ViewEntry | undefined, signal: AbortSignal | undefined): Promise<boolean> {
    const collection = collectionOf(path);
    if (!collection.includes('/') && !this.#isPicked) return true;
    if (this.#passed[depthOf(path)] === collection) return true;
    if (next !== undefined && collectionOf(next.path) === collection) return true;
    // Everything in and below a collection is contiguous: if no neighbour is in it, the view does not hold it.
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
