// @module-tag long
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type CapturedBench, startCapturedBench } from '../../../testing/pitr-bench.ts';
import { pitrStore } from '../pitr-store.ts';

let house: CapturedBench;
beforeAll(async () => {
  house = await startCapturedBench();
});
afterAll(() => house.close());

test('a clock that jumps ahead while old time is removed takes no log that is switched off', async () => {
  const before = await house.capturedWith('before');
  const { clock, tasks } = house.bench.app;
  const { all } = pitrStore;
  const jump = vi.spyOn(pitrStore, 'all').mockImplementation(async (transaction, options) => {
    // This list is made for the removal alone.
    if (options === undefined) clock.goWrong(5 * 365 * 86_400_000);
    return all(transaction, options);
  });
  try {
    await tasks.runNow('pitr retention');
    expect(jump).toHaveBeenCalled();
  } finally {
    jump.mockRestore();
    clock.goWrong(0);
  }
  const shown = await house.usersAt(before);
  expect(shown.body.data, shown.text).toMatchObject([{ path: 'users/ada' }, { path: 'users/before' }]);
});
