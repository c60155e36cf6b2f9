import { describe, expect, test } from 'vitest';
import { recordHeaderBytes } from '../ports/record.ts';
import { writeVarint } from '../ports/wire.ts';
import { decodeIndex } from './index-entries.ts';

/** An index of one path, and of many more that say to share all of it. */
function bomb(pathBytes: number, count: number): Uint8Array {
  const bytes = new Uint8Array(pathBytes + 64 + count * 16);
  let used = 0;
  const number = (value: number) => {
    used = writeVarint(bytes, used, value);
  };
  for (let entry = 0; entry < count; entry++) {
    const suffixLength = entry === 0 ? pathBytes : 1;
    number(entry === 0 ? 0 : pathBytes - 1);
    number(suffixLength);
    bytes.fill(0x61, used, used + suffixLength);
    used += suffixLength;
    for (const value of [0, 0, 0]) number(value);
  }
  return bytes.slice(0, used);
}

describe('an index by somebody who has the key', () => {
  test('whose paths together are longer than the data they stand in is damaged, and fills no memory', () => {
    const count = 100_000;
    const before = process.memoryUsage.rss();
    expect(() => decodeIndex(bomb(1_000_000, count), count, count * recordHeaderBytes)).toThrow('index');
    expect(process.memoryUsage.rss() - before).toBeLessThan(64 * 1024 * 1024);
  });

  test('of more data than a segment holds is damaged', () => {
    expect(() => decodeIndex(new Uint8Array(5), 1, 0xffffffff)).toThrow('index');
  });
});
