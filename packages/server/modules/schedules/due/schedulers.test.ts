// @module-tag long
import { expect, test } from 'vitest';
import { runScheduleChaos } from '../../../testing/schedule-chaos.ts';

/** With more of everything: `npm run chaos -- schedules`. */
test('while schedulers and workers are killed every due time has one run, and every run the truth about its backup', {
  timeout: 240_000,
}, async () => {
  const result = await runScheduleChaos({ schedules: 3, dueTimes: 6, workers: 2, killEveryMs: 4000 });
  expect(result).toMatchObject({
    dueTimes: 6,
    withoutRun: 0,
    withTwoRuns: 0,
    unfinished: 0,
    backupsWithoutRun: 0,
  });
  expect(Object.values(result.outcomes).reduce((sum, count) => sum + count, 0)).toBe(6);
});
