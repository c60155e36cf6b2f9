import { EngineError, withWaitListener } from '@holdfast/engine';
import { secondMs } from '../../platform/durations.ts';
import type { Logger } from '../../platform/log.ts';
import { type JobHandler, PutOff, type RunningJob } from '../../platform/queue.ts';
import { Waits } from './waits.ts';
import { JobWatch } from './watch-job.ts';

/** So long work waits for something that does not answer before it leaves its place to others. */
const waitWhileOthersDoMs = 5 * secondMs;
/** Work that gives way for ever would never be told as failed. */
const givingWayMax = 20;

type Attempt = Pick<RunningJob<unknown>, 'attempt' | 'othersWait'>;

/**
 * Why work that only waits is to leave its place, while others wait for it. Work that has given way often enough goes on
 * waiting for what answers with errors; where nothing answers at all, that is a failure like any other.
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
 * Work without a record, which nobody is told about: the queue alone tries it again. It gives way as other work does, except
 * with its last attempt.
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
