import { isEngineError, withWaitListener } from '@holdfast/engine';
import { defined } from '../../platform/defined.ts';
import type { Platform } from '../../platform/platform.ts';
import { Postponed, type RunningJob } from '../../platform/queue.ts';
import { isTransient, reasonOf, Superseded } from './job-ending.ts';
import { reasonToPostpone } from './postpone.ts';
import { sentenceOf, WaitTracker } from './wait-tracker.ts';
import { JobWatch } from './watch-job.ts';

/** How a run ended, unless it threw to leave the work to another attempt. */
export type JobOutcome = 'done' | 'superseded' | 'failed';

export interface JobRun {
  platform: Pick<Platform, 'config' | 'log'>;
  job: Pick<RunningJob<unknown>, 'signal' | 'attempt' | 'othersWait'>;
  /** Ids of the record for the log, such as `{ backupId }`. */
  record: Record<string, unknown>;
  /**
   * Called every second while the work runs, and once before it is left to another attempt. Saves progress and what the
   * work waits for (null: no longer anything), and returns the reason when the work has to stop.
   */
  check?: (waitingFor: string | null | undefined) => Promise<Error | undefined>;
  /** Ends the work when its `watch` got no heartbeat for this long. Absent for work that has its own deadline. */
  stallAfterMs?: number;
  work(signal: AbortSignal, watch: JobWatch): Promise<void>;
  /**
   * Saves that the work failed once more and returns the number of failures. Without it the attempts of the queue
   * count, which include those that ended with the death of a worker.
   */
  countFailure?: () => Promise<number>;
  /** Ends the record as failed. Called at most once, and only if the record has not ended. */
  fail(reason: unknown): Promise<void>;
}

/**
 * The one way for a job to end: done; superseded, which is silent; stopped by the queue, which passes the work to
 * another worker; postponed, because it only waits while others need its place; a transient error, which is thrown so
 * that the queue retries, JOB_ATTEMPTS times in all; or failed, which ends the record.
 */
export async function runJob(run: JobRun): Promise<JobOutcome> {
  const { platform, job, record } = run;
  const { stallAfterMs } = run;
  const waits = new WaitTracker();
  const check = async () =>
    (await run.check?.(waits.take())) ?? (run.countFailure && (await reasonToPostpone(job, waits)));
  const watch = new JobWatch({ log: platform.log, record, check, ...defined({ stallAfterMs }) });
  try {
    const signal = AbortSignal.any([job.signal, watch.signal]);
    await withWaitListener(waits, () => run.work(signal, watch));
    return 'done';
  } catch (error) {
    const reason = watch.signal.aborted ? watch.signal.reason : reasonOf(error);
    if (reason instanceof Superseded) return 'superseded';
    if (job.signal.aborted) throw error;
    if (reason instanceof Postponed) throw reason;
    const failures = run.countFailure ? await run.countFailure() : job.attempt;
    const isWorthAnotherTry = isTransient(reason) || (isRefusedKey(reason) && failures === 1);
    const isFinal = !isWorthAnotherTry || failures >= platform.config.JOB_ATTEMPTS;
    platform.log.warn({ err: reason, failures, isFinal, ...record }, 'a job failed');
    if (!isFinal) {
      await run.check?.(sentenceOf(reason)).catch(() => undefined);
      throw reason;
    }
    await run.fail(reason);
    return 'failed';
  } finally {
    await watch.end();
  }
}

/** The credentials may have been renewed since the work began; the next attempt uses the current ones. */
function isRefusedKey(reason: unknown): boolean {
  return isEngineError(reason, 'STORAGE_PERMISSION_DENIED');
}
