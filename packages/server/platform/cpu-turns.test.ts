import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { CpuTurns } from './cpu-turns.ts';

/** Computes for about this long. */
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

test('while somebody waits for an answer, the slices take at most a quarter of the thread', async () => {
  const turns = new CpuTurns();
  const sliceMs = 4;
  const share = async () => {
    const startedMs = performance.now();
    for (let count = 0; count < 10; count += 1) {
      await turns.take('busy');
      compute(sliceMs);
    }
    return (10 * sliceMs) / (performance.now() - startedMs);
  };
  turns.callBegan();
  expect(await share()).toBeLessThan(0.3);
  turns.callEnded();
});

test('jobs compute at once while there are no calls, and take turns while there are', async () => {
  const turns = new CpuTurns();
  const order: string[] = [];
  const job = async (organizationId: string) => {
    await turns.takeForJob(organizationId);
    order.push(organizationId);
  };
  await Promise.all([job('many'), job('many'), job('one')]);
  expect(order).toEqual(['many', 'many', 'one']);

  turns.callBegan();
  order.length = 0;
  let others = 0;
  const watching = setInterval(() => {
    others += 1;
  }, 1);
  const jobs = Array.from({ length: 10 }, async () => {
    await job('many');
    compute(3);
  });
  await Promise.all([...jobs, job('one')]);
  clearInterval(watching);
  expect(order.indexOf('one')).toBeLessThanOrEqual(2);
  expect(others).toBeGreaterThanOrEqual(8);

  turns.callEnded();
  order.length = 0;
  await Promise.all([job('many'), job('many'), job('one')]);
  expect(order).toEqual(['many', 'many', 'one']);
});
