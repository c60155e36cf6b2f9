import { expect, test } from 'vitest';
import { scratchThread } from './scratch-thread.ts';

const isOpen = (address: string) =>
  fetch(`http://${address}/`).then(
    () => true,
    () => false,
  );

test('scratch databases answer from a thread that this one does not have to wait for, each at its own address', async () => {
  const [first, second] = await Promise.all([scratchThread.open(), scratchThread.open()]);
  expect(first.address).not.toBe(second.address);
  await scratchThread.clear(first.scratch, { project: 'shop', database: '(default)' });
  await scratchThread.close(first.scratch);
  expect(await isOpen(first.address)).toBe(false);
  expect(await isOpen(second.address)).toBe(true);
  await scratchThread.close(second.scratch);
  const third = await scratchThread.open();
  expect(await isOpen(third.address)).toBe(true);
  await scratchThread.close(third.scratch);
});
