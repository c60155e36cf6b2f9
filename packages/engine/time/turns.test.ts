import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { nextTurn } from './turns.ts';

test('of all the work that waits, one slice goes on in each turn of the event loop, in order', async () => {
  const done: number[] = [];
  const work = Array.from({ length: 5 }, async (_, index) => {
    await nextTurn();
    done.push(index);
    await nextTurn();
    done.push(10 + index);
  });
  const seen: number[] = [];
  while (done.length < 10) {
    await turnOfTheLoop();
    seen.push(done.length);
  }
  await Promise.all(work);
  expect(done).toEqual([0, 1, 2, 3, 4, 10, 11, 12, 13, 14]);
  expect(Math.max(...seen.map((count, index) => count - (seen[index - 1] ?? 0)))).toBe(1);
});
