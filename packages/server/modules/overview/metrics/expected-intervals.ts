import { setImmediate as nextTurn } from 'node:timers/promises';
import { lastDueTimes, type MeasuredSchedule, nextRun, parseCron } from '../../schedules/index.ts';

const sliceMs = 5;

interface Known {
  readonly seconds: number;
  /** The due time at which the interval may change. */
  readonly until: Date;
}

type Rhythm = Pick<MeasuredSchedule, 'cron' | 'timezone'>;

/**
 * The longer of the current interval and the previous one. So a schedule for working days is not late on a Sunday, nor
 * on Monday while its run goes on. Computed once for all schedules with the same rhythm, and again after its next due
 * time.
 */
export class ExpectedIntervals {
  #known = new Map<string, Known>();

  /** Undefined for a rhythm that is never due again. */
  async seconds(schedules: readonly Rhythm[], now: Date): Promise<(number | undefined)[]> {
    const used = new Map<string, Known>();
    const found: (number | undefined)[] = [];
    let sliceEndsMs = performance.now() + sliceMs;
    for (const schedule of schedules) {
      // There may be many rhythms, so other calls are answered in between.
      if (performance.now() > sliceEndsMs) {
        await nextTurn();
        sliceEndsMs = performance.now() + sliceMs;
      }
      const key = `${schedule.timezone} ${schedule.cron}`;
      const known = used.get(key) ?? this.#stillTrue(key, now) ?? intervalOf(schedule, now);
      if (known) used.set(key, known);
      found.push(known?.seconds);
    }
    // Only requested rhythms are remembered, so that those of deleted schedules do not pile up.
    this.#known = used;
    return found;
  }

  #stillTrue(key: string, now: Date): Known | undefined {
    const known = this.#known.get(key);
    return known && now < known.until ? known : undefined;
  }
}

function intervalOf({ cron, timezone }: Rhythm, now: Date): Known | undefined {
  const expression = parseCron(cron);
  const until = nextRun(expression, timezone, now);
  if (!until) return undefined;
  const [last, before] = lastDueTimes(expression, timezone, now, 2);
  const current = last ? until.getTime() - last.getTime() : undefined;
  const previous = last && before ? last.getTime() - before.getTime() : undefined;
  const afterwards = nextRun(expression, timezone, until)?.getTime();
  const milliseconds = Math.max(current ?? 0, previous ?? 0) || (afterwards ?? until.getTime()) - until.getTime();
  return { seconds: milliseconds / 1000, until };
}
