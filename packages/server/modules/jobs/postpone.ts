import { EngineError, withWaitListener } from '@holdfast/engine';
import { secondMs } from '../../platform/durations.ts';
import type { Logger } from '../../platform/log.ts';
import { type JobHandler, Postponed, type RunningJob } from '../../platform/queue.ts';
import { WaitTracker } from './wait-tracker.ts';
import { JobWatch } from './watch-job.ts';

/** Long work without an answer leaves its place to others after this time. */
const silenceMsMax = 5 * secondMs;
/** Limits how often work is postponed: otherwise it would never be reported as failed. */
const postponementsMax = 20;

type Attempt = Pick<RunningJob<unknown>, 'attempt' | 'othersWait'>;

/**
 * Why waiting work should leave its place while others wait for it. Work that was postponed too often stays and keeps
 * waiting, if it gets errors as answers. If it gets no answers at all, it fails.
 */
export async function reasonToPostpone(
  { attempt, othersWait }: Attempt,
  waits: WaitTracker,
): Promise<Error | undefined> {
  const isSilent = waits.silentMs >= silenceMsMax;
  if (!isSilent && waits.lastedMs < silenceMsMax) return undefined;
  if (attempt > postponementsMax && !isSilent) return undefined;
  if (!(await othersWait?.())) return undefined;
  return attempt > postponementsMax ? noAnswer() : postponed();
}

function postponed(): Postponed {
  return new Postponed('It waits for something that does not answer, and leaves its place to others meanwhile.');
}

function noAnswer(): EngineError {
  return new EngineError(
    'STORAGE_UNAVAILABLE',
    `The storage did not answer within ${silenceMsMax / secondMs} seconds, in ${postponementsMax} tries and more, while others waited for their turn.`,
  );
}

/**
 * Wraps a handler whose work has no record, so that only the queue retries it. Such work is postponed like other work,
 * except in its last attempt.
 */
export function postponable<Data>(log: Logger, handler: JobHandler<Data>): JobHandler<Data> {
  return async (job) => {
    const waits = new WaitTracker();
    const check = () => reasonToPostpone({ ...job, attempt: 1 }, waits);
    const watch = new JobWatch({ log, record: { jobId: job.id }, ...(job.lastAttempt ? {} : { check }) });
    try {
      const signal = AbortSignal.any([job.signal, watch.signal]);
      await withWaitListener(waits, () => handler({ ...job, signal }));
    } catch (error) {
      throw watch.signal.aborted && !job.signal.aborted ? watch.signal.reason : error;
    } finally {
      await watch.end();
    }
  };
}
