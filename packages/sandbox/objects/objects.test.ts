import { randomBytes } from 'node:crypto';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { diskCatalogue } from './catalogue.ts';
import { type ChecksumName, createChecksum } from './checksum.ts';
import { diskContents, memoryContents, readPieces } from './contents.ts';
import { combineCrc } from './crc.ts';
import { Faults } from './faults.ts';
import { parseRange } from './http-range.ts';
import { compareUtf8, SortedMap } from './sorted-map.ts';

const folder = mkdtempSync(join(tmpdir(), 'sandbox-objects-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function gathered(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<Uint8Array[]> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return all;
}

function checksumOf(name: ChecksumName, bytes: Uint8Array): Buffer {
  const checksum = createChecksum(name);
  checksum.update(bytes);
  return checksum.digest();
}

test.each([
  ['CRC32', 'cbf43926'],
  ['CRC32C', 'e3069283'],
  ['CRC64NVME', 'ae8b14860a799888'],
  ['SHA1', 'f7c3bc1d808e04732adf679965ccc34ca7ae3441'],
  ['MD5', '25f9e794323b453885f5181f1b624d0b'],
] as const)('%s of the usual nine digits is %s', (name, expected) => {
  expect(checksumOf(name, Buffer.from('123456789')).toString('hex')).toBe(expected);
});

test('a checksum does not depend on how the bytes are split, and two combine to that of the whole', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.uint8Array({ maxLength: 200 }), (a, b) => {
      for (const name of ['CRC32', 'CRC32C', 'CRC64NVME'] as const) {
        const whole = checksumOf(name, Buffer.concat([a, b]));
        const running = createChecksum(name);
        running.update(a);
        running.update(b);
        expect(running.digest()).toEqual(whole);
        expect(combineCrc(name, checksumOf(name, a), checksumOf(name, b), b.length)).toEqual(whole);
      }
    }),
    { numRuns: 60 },
  );
});

test('keys sort as their UTF-8 bytes do', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (a, b) => {
      expect(Math.sign(compareUtf8(a, b))).toBe(Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b))));
    }),
  );
  const map = new SortedMap<number>();
  for (const key of ['b', '😀', 'a', '\uffee', 'b', 'c']) map.set(key, key.length);
  map.delete('c');
  expect([...map.entriesFrom('b')].map(([key]) => key)).toEqual(['b', '\uffee', '😀']);
});

test('ranges are read as HTTP defines them', () => {
  const cases: [string | undefined, unknown][] = [
    [undefined, undefined],
    ['bytes=0-4', { start: 0, end: 5 }],
    ['bytes=5-', { start: 5, end: 10 }],
    ['bytes=-3', { start: 7, end: 10 }],
    ['bytes=-30', { start: 0, end: 10 }],
    ['bytes=9-100', { start: 9, end: 10 }],
    ['bytes=10-', 'unsatisfiable'],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=5-4', undefined],
    ['bytes=-', undefined],
    ['items=0-1', undefined],
  ];
  for (const [header, expected] of cases) expect(parseRange(header, 10)).toEqual(expected);
});

test.each(['memory', 'disk'])(
  '%s contents return any range of joined pieces, and free them with the last holder',
  async (mode) => {
    const contents = mode === 'disk' ? diskContents(folder) : memoryContents();
    const bytes = randomBytes(300_000);
    const pieces = [];
    for (const part of [bytes.subarray(0, 100_000), bytes.subarray(100_000, 100_001), bytes.subarray(100_001)]) {
      const writer = contents.create();
      for (let at = 0; at < part.length; at += 30_000) await writer.write(part.subarray(at, at + 30_000));
      pieces.push(await writer.finish());
    }
    for (const [start, end] of [
      [0, 300_000],
      [99_999, 100_002],
      [0, 0],
      [150_000, 150_001],
    ] as const) {
      const got: Uint8Array[] = [];
      for await (const chunk of readPieces(contents, pieces, start, end)) got.push(chunk);
      expect(Buffer.concat(got).equals(bytes.subarray(start, end))).toBe(true);
    }
    contents.retain(pieces[0]!);
    contents.release(pieces[0]!);
    expect(await gathered(contents.read(pieces[0]!, 0, 10))).toHaveLength(1);
    for (const piece of pieces) contents.release(piece);
    await expect(gathered(contents.read(pieces[0]!, 0, 10))).rejects.toThrow();
  },
);

test('a catalogue contains what was recorded, also after an incomplete last line', async () => {
  const first = await diskCatalogue(folder);
  await Promise.all([first.set('a', { n: 1 }), first.set('b', { n: 2 }), first.set('a', { n: 3 }), first.delete('b')]);
  await first.close();
  appendFileSync(join(folder, 'catalogue.ndjson'), '["c",{"n"');
  const second = await diskCatalogue(folder);
  expect([...second.loaded]).toEqual([['a', { n: 3 }]]);
  await second.close();
});

test('the same seed gives the same faults, in the requested shares', () => {
  const run = () => {
    const faults = new Faults();
    faults.set({ seed: 5, errorRate: 0.25, throttleRate: 0.3, delayRate: 0.15, delayMsMin: 2, delayMsMax: 4 });
    const plans = Array.from({ length: 4000 }, () => JSON.stringify(faults.plan('GetObject', false)));
    return { plans, counts: faults.counts };
  };
  const first = run();
  expect(run().plans).toEqual(first.plans);
  expect(first.counts.errors / 4000).toBeCloseTo(0.25, 1);
  expect(first.counts.throttles / 4000).toBeCloseTo(0.3 * 0.75, 1);
  expect(first.counts.delays / 4000).toBeCloseTo(0.15, 1);
  const faults = new Faults();
  expect(() => faults.set({ errorRte: 1 } as object)).toThrow('unknown fault');
  expect(() => faults.set({ errorRate: 2 })).toThrow('0 to 1');
});
