/** Object stores list in the order of UTF-8 bytes; JavaScript compares UTF-16 units, which differs for surrogates. */
export function compareUtf8(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const unitA = a.charCodeAt(at);
    const unitB = b.charCodeAt(at);
    if (unitA !== unitB) return rank(unitA) - rank(unitB);
  }
  return a.length - b.length;
}

/** Surrogates stand for code points above every other unit. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** A map with keys in UTF-8 order. Appending in order is cheap; inserting elsewhere moves the tail. */
export class SortedMap<Value> {
  readonly #values = new Map<string, Value>();
  readonly #keys: string[] = [];

  get size(): number {
    return this.#keys.length;
  }

  get(key: string): Value | undefined {
    return this.#values.get(key);
  }

  set(key: string, value: Value): void {
    if (!this.#values.has(key)) this.#keys.splice(this.#position(key), 0, key);
    this.#values.set(key, value);
  }

  delete(key: string): void {
    if (this.#values.delete(key)) this.#keys.splice(this.#position(key), 1);
  }

  /** Entries from the first key that is not below `from`. The map must not change during the walk. */
  *entriesFrom(from: string): Generator<[string, Value]> {
    for (let at = this.#position(from); at < this.#keys.length; at++) {
      const key = this.#keys[at]!;
      yield [key, this.#values.get(key)!];
    }
  }

  #position(key: string): number {
    let low = 0;
    let high = this.#keys.length;
    if (high > 0 && compareUtf8(this.#keys[high - 1]!, key) < 0) return high;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareUtf8(this.#keys[middle]!, key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
