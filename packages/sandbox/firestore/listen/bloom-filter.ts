import { createHash } from 'node:crypto';

const bitsPerName = 10;
const hashCount = 7;

/** The names a target matches, as a resumed listener gets them: `google.firestore.v1.BloomFilter`. */
export interface BloomFilterMessage {
  readonly bits: { readonly bitmap: Buffer; readonly padding: number };
  readonly hashCount: number;
}

/** Takes whole resource names. A name that is not in the filter no longer matches; one that is may still be gone. */
export function bloomFilterOf(names: Iterable<string>): BloomFilterMessage {
  const all = [...names];
  const bitCount = BigInt(Math.max(1, all.length * bitsPerName));
  const bitmap = Buffer.alloc(Math.ceil(Number(bitCount) / 8));
  for (const name of all) {
    const digest = createHash('md5').update(name, 'utf8').digest();
    const first = digest.readBigUInt64LE(0);
    const second = digest.readBigUInt64LE(8);
    for (let index = 0n; index < hashCount; index += 1n) {
      const bit = Number(BigInt.asUintN(64, first + index * second) % bitCount);
      bitmap[bit >> 3]! |= 1 << (bit & 7);
    }
  }
  return { bits: { bitmap, padding: bitmap.length * 8 - Number(bitCount) }, hashCount };
}
