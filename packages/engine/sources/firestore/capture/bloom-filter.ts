/**
 * The names that a target still matches, as the server packs them. A name that is not in the filter is deleted; one in
 * it may be deleted too.
 */

import { createHash } from 'node:crypto';

export interface BloomFilterMessage {
  readonly bits?: { readonly bitmap?: Uint8Array; readonly padding?: number };
  readonly hashCount?: number;
}

/** Limits the hash count that a server may ask for. */
const hashCountMax = 100;

export class BloomFilter {
  readonly #bitmap: Uint8Array;
  readonly #bitCount: bigint;
  readonly #hashCount: number;

  private constructor(bitmap: Uint8Array, bitCount: number, hashCount: number) {
    this.#bitmap = bitmap;
    this.#bitCount = BigInt(bitCount);
    this.#hashCount = hashCount;
  }

  /** Undefined without a usable filter. */
  static of(message: BloomFilterMessage | undefined): BloomFilter | undefined {
    const bitmap = message?.bits?.bitmap;
    const bitCount = (bitmap?.length ?? 0) * 8 - (message?.bits?.padding ?? 0);
    const hashCount = message?.hashCount ?? 0;
    if (bitmap === undefined || bitCount <= 0 || hashCount < 1 || hashCount > hashCountMax) return undefined;
    return new BloomFilter(bitmap, bitCount, hashCount);
  }

  /** Takes a whole resource name. */
  mayHold(name: string): boolean {
    const digest = createHash('md5').update(name, 'utf8').digest();
    const first = digest.readBigUInt64LE(0);
    const second = digest.readBigUInt64LE(8);
    for (let index = 0; index < this.#hashCount; index += 1) {
      const bit = Number(BigInt.asUintN(64, first + BigInt(index) * second) % this.#bitCount);
      if ((this.#bitmap[bit >> 3]! & (1 << (bit & 7))) === 0) return false;
    }
    return true;
  }
}
