import { utf8 } from './path-bytes.ts';

const slash = 0x2f;

// More distinct shapes than this are a database modelled by mistake; the rest is counted together.
const collectionsMax = 2000;
export const otherCollections = '…';

// Counts documents per collection shape (`users/*/orders`) while paths stream by in order.
export class CollectionCounter {
  readonly #counts = new Map<string, number>();
  #shape = '';
  #parentLength = -1;
  #pending = 0;

  /**
   * `shared` is the number of bytes that this path has in common with the one shown before. Deletes are shown but not
   * counted.
   */
  show(bytes: Uint8Array, start: number, end: number, shared: number, isCounted: boolean): void {
    let idStart = end;
    while (idStart > start && bytes[idStart - 1] !== slash) idStart -= 1;
    const parentLength = idStart - start;
    if (parentLength !== this.#parentLength || shared < parentLength) {
      this.#flush();
      this.#shape = collectionShape(utf8(bytes, start, end));
      this.#parentLength = parentLength;
    }
    if (isCounted) this.#pending += 1;
  }

  counts(): ReadonlyMap<string, number> {
    this.#flush();
    return this.#counts;
  }

  #flush(): void {
    if (this.#pending > 0) addCounts(this.#counts, [[this.#shape, this.#pending]]);
    this.#pending = 0;
  }
}

// `users/ada/orders/7` → `users/*/orders`.
export function collectionShape(path: string): string {
  const segments = path.split('/');
  segments.pop();
  for (let index = 1; index < segments.length; index += 2) segments[index] = '*';
  return segments.join('/');
}

export function addCounts(into: Map<string, number>, counts: Iterable<readonly [string, number]>): void {
  for (const [shape, count] of counts) {
    const key = into.has(shape) || into.size < collectionsMax ? shape : otherCollections;
    into.set(key, (into.get(key) ?? 0) + count);
  }
}
