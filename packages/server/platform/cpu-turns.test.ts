import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { CpuTurns } from './cpu-turns.ts';

/** Computes for about so long. */
function compute(milliseconds: number): void {
  const endMs = performance.now() + milliseconds;
  while (performance.now() < endMs);
}

test('organizations take turns, however many slices one of them asks for', async () => {
  const turns = new CpuTurns();
  const order: string[] = [];
  const slice = async (organizationId: string) => {
    await turns.take(organizationId);
    order.push(organizationId);
  };
  await Promise.all([...Array.from({ length: 20 }, () => slice('many')), slice('one'), slice('two')]);
  expect(order.slice(0, 4).sort()).toEqual(['many', 'many', 'one', 'two']);
  expect(order).toHaveLength(22);
});

test('work in slices leaves the thread to others in between, and never runs two slices in a row', async () => {
  const turns = new CpuTurns();
  let isOver = false;
  let others = 0;
  const slices = 30;
  const work = Array.from({ length: 3 }, async () => {
    for (let count = 0; count < slices / 3; count += 1) {
      await turns.take('busy');
      compute(3);
    }
  });
  const watching = (async () => {
    while (!isOver) {
      await sleep(1);
      others += 1;
    }
  })();
  await Promise.all(work);
  isOver = true;
  await watching;
  expect(others).toBeGreaterThanOrEqual(slices - 5);
});
