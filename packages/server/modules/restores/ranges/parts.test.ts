import { recordKind } from '@holdfast/engine';
import { describe, expect, test } from 'vitest';
import { CollectionCount } from './collection-count.ts';
import { CutPaths } from './cut-paths.ts';
import { oneAtATime } from './one-at-a-time.ts';
import { nothingWritten, sumWritten } from './written.ts';

const name = (n: number) => `items/${String(n).padStart(6, '0')}`;

function cut(documents: number, documentsPerRange: number): readonly string[] {
  const cuts = new CutPaths(documentsPerRange);
  for (let n = 0; n < documents; n++) cuts.pass(name(n));
  return cuts.paths;
}

describe('a restore is cut', () => {
  test('not at all while one range holds it, and then at every so many documents', () => {
    expect(cut(100, 100)).toEqual([]);
    expect(cut(101, 100)).toEqual([name(100)]);
    expect(cut(350, 100)).toEqual([name(100), name(200), name(300)]);
  });

  test('into 32 ranges at most, of the same size but for the last', () => {
    const paths = cut(100_000, 100);
    expect(paths.length).toBeGreaterThan(15);
    expect(paths.length).toBeLessThan(32);
    const numbers = paths.map((path) => Number(path.slice(6)));
    const stride = numbers[0]!;
    expect(numbers).toEqual(numbers.map((_, index) => (index + 1) * stride));
    expect(100_000 - numbers.at(-1)!).toBeLessThanOrEqual(stride);
  });
});

describe('collections of several ranges and runs', () => {
  const written = (path: string) =>
    ({ path, kind: recordKind.put, result: 'written', replaced: null, version: null }) as const;
  const paths = ['a/1', 'a/1/x/1', 'a/2', 'a/2/x/1', 'a/2/x/2', 'a/3', 'b/1'];

  test.each([1, 2, 3, 4, 5, 6])('count once, wherever they are cut (at %i) and broken off', (at) => {
    const parts = [
      { start: null, end: paths[at]!, own: paths.slice(0, at) },
      { start: paths[at]!, end: null, own: paths.slice(at) },
    ].map(({ start, end, own }) => {
      let figures = { ...nothingWritten };
      for (const path of own) {
        const run = new CollectionCount(figures);
        run.add(written(path));
        figures = { ...figures, ...run.figures([start, end, path]) };
      }
      return figures;
    });
    expect(sumWritten(parts).collections).toBe(4);
  });
});

test('a process writes one range of a restore at a time, and those of different restores side by side', async () => {
  const here = {};
  let running = 0;
  let most = 0;
  const work = async () => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
  };
  await Promise.all([1, 2, 3].map(() => oneAtATime(here, 'one', work)));
  expect(most).toBe(1);
  await Promise.all(['one', 'two'].map((id) => oneAtATime(here, id, work)));
  expect(most).toBe(2);
  const broken = oneAtATime(here, 'one', async () => Promise.reject(new Error('broken')));
  await expect(broken).rejects.toThrow('broken');
  expect(await oneAtATime(here, 'one', async () => 'goes on')).toBe('goes on');
});
