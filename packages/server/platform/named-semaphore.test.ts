import { expect, test } from 'vitest';
import { NamedSemaphore } from './named-semaphore.ts';

test('each name has its places, others of it wait in order, and a failure gives its place back', async () => {
  const places = new NamedSemaphore(2);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const work = (name: string, label: string) =>
    places.run(name, async () => {
      begun.push(label);
      await new Promise<void>((resolve) => ends.push(resolve));
      if (label === 'a1') throw new Error('failed');
    });
  const first = work('a', 'a1');
  const rest = [work('a', 'a2'), work('a', 'a3'), work('a', 'a4'), work('b', 'b1')];
  await expect.poll(() => begun).toEqual(['a1', 'a2', 'b1']);
  ends[0]?.();
  await expect(first).rejects.toThrow('failed');
  await expect.poll(() => begun).toEqual(['a1', 'a2', 'b1', 'a3']);
  const end = setInterval(() => {
    for (const resolve of ends.splice(0)) resolve();
  }, 1);
  await Promise.all(rest);
  clearInterval(end);
  expect(begun).toEqual(['a1', 'a2', 'b1', 'a3', 'a4']);
});
