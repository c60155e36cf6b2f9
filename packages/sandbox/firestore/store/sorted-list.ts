import { compareKeys } from '../values/key.ts';

const leafItemsMax = 512;

export interface Keyed {
  readonly key: string;
}

/**
 * Items in key order, in leaves of at most 512: inserting moves a few hundred pointers, appending in order moves none,
 * and a scan walks plain arrays.
 */
export class SortedList<Item extends Keyed> {
  #leaves: Item[][] = [];
  /** Counts structural changes, so that a cursor knows when to find its place again. */
  changes = 0;
  size = 0;

  insert(item: Item): void {
    this.changes += 1;
    this.size += 1;
    const last = this.#leaves.at(-1);
    if (last === undefined) {
      this.#leaves.push([item]);
    } else if (last.at(-1)!.key < item.key) {
      if (last.length < leafItemsMax) last.push(item);
      else this.#leaves.push([item]);
    } else {
      this.#insertInside(item);
    }
  }

  delete(key: string): void {
    const leafIndex = this.#leafFor(key);
    const leaf = this.#leaves[leafIndex];
    if (leaf === undefined) return;
    const index = lowerBound(leaf, key);
    if (leaf[index]?.key !== key) return;
    this.changes += 1;
    this.size -= 1;
    leaf.splice(index, 1);
    if (leaf.length === 0) this.#leaves.splice(leafIndex, 1);
  }

  /** A cursor over keys in [from, to), ascending, or descending from the far end. */
  cursor(from: string, to: string | null, descending = false): Cursor<Item> {
    return new Cursor(this, from, to, descending);
  }

  leaf(index: number): readonly Item[] | undefined {
    return this.#leaves[index];
  }

  /** The place of the first item whose key is at least `key`; past the end when there is none. */
  seek(key: string): { leaf: number; index: number } {
    const leafIndex = this.#leafFor(key);
    const leaf = this.#leaves[leafIndex];
    return { leaf: leafIndex, index: leaf === undefined ? 0 : lowerBound(leaf, key) };
  }

  /** How many keys there are in [from, to), without looking at the items. */
  countBetween(from: string, to: string | null): number {
    if (to !== null && compareKeys(to, from) <= 0) return 0;
    const first = this.seek(from);
    const end = to === null ? { leaf: this.#leaves.length, index: 0 } : this.seek(to);
    let count = end.index - first.index;
    for (let leaf = first.leaf; leaf < end.leaf; leaf += 1) count += this.#leaves[leaf]!.length;
    return count;
  }

  get leafCount(): number {
    return this.#leaves.length;
  }

  #insertInside(item: Item): void {
    const leafIndex = this.#leafFor(item.key);
    const leaf = this.#leaves[leafIndex]!;
    leaf.splice(lowerBound(leaf, item.key), 0, item);
    if (leaf.length > leafItemsMax) this.#leaves.splice(leafIndex + 1, 0, leaf.splice(leafItemsMax / 2));
  }

  /** The first leaf whose last key is not below `key`. */
  #leafFor(key: string): number {
    let low = 0;
    let high = this.#leaves.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#leaves[middle]!.at(-1)!.key < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function lowerBound(leaf: readonly Keyed[], key: string): number {
  let low = 0;
  let high = leaf.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareKeys(leaf[middle]!.key, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Walks a list that may change between two calls: it then continues after the last key it returned. */
export class Cursor<Item extends Keyed> {
  readonly #list: SortedList<Item>;
  readonly #from: string;
  readonly #to: string | null;
  readonly #descending: boolean;
  #changes = -1;
  #leaf = 0;
  #index = 0;
  #lastKey: string | null = null;

  constructor(list: SortedList<Item>, from: string, to: string | null, descending: boolean) {
    this.#list = list;
    this.#from = from;
    this.#to = to;
    this.#descending = descending;
  }

  next(): Item | undefined {
    if (this.#changes !== this.#list.changes) this.#reseek();
    const item = this.#descending ? this.#stepDown() : this.#stepUp();
    if (item !== undefined) this.#lastKey = item.key;
    return item;
  }

  /** Jumps forward: the next item is the first whose key is at least `key`. Ascending cursors only. */
  skipTo(key: string): void {
    ({ leaf: this.#leaf, index: this.#index } = this.#list.seek(key));
    this.#changes = this.#list.changes;
  }

  #stepUp(): Item | undefined {
    let leaf = this.#list.leaf(this.#leaf);
    if (leaf !== undefined && this.#index >= leaf.length) {
      leaf = this.#list.leaf(++this.#leaf);
      this.#index = 0;
    }
    const item = leaf?.[this.#index];
    if (item === undefined || (this.#to !== null && item.key >= this.#to)) return undefined;
    this.#index += 1;
    return item;
  }

  #stepDown(): Item | undefined {
    if (this.#index === 0) {
      const leaf = this.#list.leaf(--this.#leaf);
      if (leaf === undefined) {
        this.#leaf = 0;
        return undefined;
      }
      this.#index = leaf.length;
    }
    const item = this.#list.leaf(this.#leaf)?.[this.#index - 1];
    if (item === undefined || item.key < this.#from) return undefined;
    this.#index -= 1;
    return item;
  }

  #reseek(): void {
    if (this.#descending) {
      const bound = this.#lastKey ?? this.#to;
      if (bound === null) {
        this.#leaf = this.#list.leafCount;
        this.#index = 0;
      } else {
        ({ leaf: this.#leaf, index: this.#index } = this.#list.seek(bound));
      }
    } else {
      // The smallest key above the last one given out is that key plus a separator.
      ({ leaf: this.#leaf, index: this.#index } = this.#list.seek(
        this.#lastKey === null ? this.#from : `${this.#lastKey}\u0000`,
      ));
    }
    this.#changes = this.#list.changes;
  }
}
