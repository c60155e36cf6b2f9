import { runScheduleChaos } from '@holdfast/server/testing/schedule-chaos';

/** Two schedulers and three workers are killed at random over many due times: each has exactly one run, completed or told. */
export async function chaosSchedules(options: { dueTimes: number }): Promise<boolean> {
  const result = await runScheduleChaos({ ...options, schedules: 10, killEveryMs: 2500, log: console.log });
  console.log(JSON.stringify({ name: 'chaos schedules', ...result, outcomes: undefined, ...result.outcomes }));
  const { withoutRun, withTwoRuns, unfinished, backupsWithoutRun } = result;
  return withoutRun + withTwoRuns + unfinished + backupsWithoutRun === 0;
}
