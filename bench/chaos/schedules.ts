import { runScheduleChaos } from '@holdfast/server/testing/schedule-chaos';
import { startTemplateDatabase } from '@holdfast/server/testing/template-database';

/** Two schedulers and three workers are killed at random over many due times: each has exactly one run, completed or told. */
export async function chaosSchedules({ dueTimes }: { dueTimes: number }): Promise<boolean> {
  const { url: templateUrl, stop } = await startTemplateDatabase();
  try {
    const result = await runScheduleChaos({
      workers: 3,
      dueTimes,
      schedules: 10,
      killEveryMs: 1500,
      templateUrl,
      log: console.log,
    });
    console.log(JSON.stringify({ name: 'chaos schedules', ...result, outcomes: undefined, ...result.outcomes }));
    const { withoutRun, withTwoRuns, unfinished, backupsWithoutRun } = result;
    return withoutRun + withTwoRuns + unfinished + backupsWithoutRun === 0;
  } finally {
    await stop();
  }
}
