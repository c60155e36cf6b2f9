import type { BlobStore } from '@holdfast/engine';
import fc from 'fast-check';

/** Where and how to damage: bytes are changed, removed, doubled, or inserted. */
export const arbitraryHarm = fc.record({
  file: fc.nat(),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  length: fc.oneof(fc.constantFrom(1, 2, 4, 7, 8, 4096), fc.nat({ max: 300 })),
  how: fc.constantFrom('flip', 'cut', 'end', 'double', 'put', 'zero', 'swap', 'remove', 'empty'),
  bytes: fc.uint8Array({ minLength: 1, maxLength: 40 }),
});
export type Harm = typeof arbitraryHarm extends fc.Arbitrary<infer One> ? One : never;

function harmed(bytes: Uint8Array, { at, length, how, bytes: others }: Harm): Uint8Array {
  const from = Math.floor(at * bytes.length);
  const [before, inside, after] = [bytes.slice(0, from), bytes.slice(from, from + length), bytes.slice(from + length)];
  if (how === 'flip') return Buffer.concat([before, inside.map((byte) => byte ^ 0x55), after]);
  if (how === 'cut') return Buffer.concat([before, after]);
  if (how === 'end') return before;
  if (how === 'double') return Buffer.concat([before, inside, inside, after]);
  if (how === 'put') return Buffer.concat([before, others, inside, after]);
  return how === 'zero' ? Buffer.concat([before, inside.fill(0), after]) : new Uint8Array(0);
}

/** Damages the files of a store, or those below a prefix. */
export async function harm(store: BlobStore, harms: readonly Harm[], prefix = ''): Promise<void> {
  for (const one of harms) {
    const keys: string[] = [];
    for await (const { key } of store.list(prefix)) keys.push(key);
    const key = keys[one.file % keys.length];
    if (key === undefined) return;
    const other = keys[(one.file + 1) % keys.length] as string;
    if (one.how === 'remove') await store.delete([key]);
    else if (one.how === 'swap') await store.put(key, await store.get(other));
    else await store.put(key, harmed(await store.get(key), one));
  }
}
