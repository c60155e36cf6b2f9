import { EngineError, withWaitListener } from '@holdfast/engine';
import { secondMs } from '../../platform/durations.ts';
import type { Logger } from '../../platform/log.ts';
import { type JobHandler, PutOff, type RunningJob } from '../../platform/queue.ts';
import { Waits } from './waits.ts';
import { JobWatch } from './watch-job.ts';

/** Long work without an answer leaves its place to others after this time. */
const waitWhileOthersDoMs = 5 * secondMs;
/** Limits how often work is put off: otherwise it would never be reported as failed. */
const givingWayMax = 20;

type Attempt = Pick<RunningJob<unknown>, 'attempt' | 'othersWait'>;

/**
 * Why waiting work should leave its place while others wait for it. Work that was put off too often stays and keeps
 * waiting, if it gets errors as answers. If it gets no answers at all, it fails.
 */
export async function reasonToGiveWay({ attempt, othersWait }: Attempt, waits: Waits): Promise<Error | undefined> {
  const isSilent = waits.silentMs >= waitWhileOthersDoMs;
  if (!isSilent && waits.lastedMs < waitWhileOthersDoMs) return undefined;
  if (attempt > givingWayMax && !isSilent) return undefined;
  if (!(await othersWait?.())) return undefined;
  return attempt > givingWayMax ? noAnswer() : putOff();
}

function putOff(): PutOff {
  return new PutOff('It waits for something that does not answer, and leaves its place to others meanwhile.');
}

function noAnswer(): EngineError {
  return new EngineError(
    'STORAGE_UNAVAILABLE',
    `The storage did not answer within ${waitWhileOthersDoMs / secondMs} seconds, in ${givingWayMax} tries and more, while others waited for their turn.`,
  );
}

/**
 * Wraps a handler whose work has no record, so that only the queue retries it. Such work is put off like other work,
 * except in its last attempt.
 */
export function sideWork<Data>(log: Logger, handler: JobHandler<Data>): JobHandler<Data> {
  return async (job) => {
    const waits = new Waits();
    const look = () => reasonToGiveWay({ ...job, attempt: 1 }, waits);
    const watch = new JobWatch({ log, record: { jobId: job.id }, ...(job.lastAttempt ? {} : { look }) });
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
