import { isEngineError, withWaitListener } from '@holdfast/engine';
import { defined } from '../../platform/defined.ts';
import type { Platform } from '../../platform/platform.ts';
import { PutOff, type RunningJob } from '../../platform/queue.ts';
import { reasonToGiveWay } from './giving-way.ts';
import { isTransient, reasonOf, Superseded } from './job-ending.ts';
import { sentenceOf, Waits } from './waits.ts';
import { JobWatch } from './watch-job.ts';

/** How the run of a job ended, when it did not leave the work to another attempt by throwing. */
export type JobOutcome = 'done' | 'superseded' | 'failed';

export interface JobRun {
  platform: Pick<Platform, 'config' | 'log'>;
  job: Pick<RunningJob<unknown>, 'signal' | 'attempt' | 'othersWait'>;
  /** Names of the record, for the log, such as `{ backupId }`. */
  record: Record<string, unknown>;
  /**
   * Every second while the work runs, and when it is left to another try: reports progress and what it waits for (null: for
   * nothing any more), and answers with the reason when the work is to stop.
   */
  look?: (waitingFor: string | null | undefined) => Promise<Error | undefined>;
  /** Ends the work when its `watch` was given no sign of life for so long. Left out by work that has a deadline of its own. */
  stallAfterMs?: number;
  work(signal: AbortSignal, watch: JobWatch): Promise<void>;
  /**
   * Writes down that the work failed once more, and answers how often it has by now. Left out, the attempts of the queue
   * count, among which are those that ended with the death of a worker.
   */
  countFailure?: () => Promise<number>;
  /** Ends the record as failed. Called at most once, and only while nobody else has ended it. */
  fail(reason: unknown): Promise<void>;
}

/**
 * The one way for a job to end. Done; superseded, which is silent; told to stop by the queue, which hands the work to
 * another worker; put off, because it only waits and others wait for its place; failed by something that may pass, which throws so that the queue tries again, JOB_ATTEMPTS times in
 * all; or failed for good, which ends the record.
 */
export async function runJob(run: JobRun): Promise<JobOutcome> {
  const { platform, job, record } = run;
  const { look, stallAfterMs } = run;
  const waits = new Waits();
  const lookAfter = async () =>
    (await look?.(waits.take())) ?? (run.countFailure && (await reasonToGiveWay(job, waits)));
  const watch = new JobWatch({ log: platform.log, record, look: lookAfter, ...defined({ stallAfterMs }) });
  try {
    const signal = AbortSignal.any([job.signal, watch.signal]);
    await withWaitListener(waits, () => run.work(signal, watch));
    return 'done';
  } catch (error) {
    const reason = watch.signal.aborted ? watch.signal.reason : reasonOf(error);
    if (reason instanceof Superseded) return 'superseded';
    if (job.signal.aborted) throw error;
    if (reason instanceof PutOff) throw reason;
    const failures = run.countFailure ? await run.countFailure() : job.attempt;
    const isWorthAnotherTry = isTransient(reason) || (isRefusedKey(reason) && failures === 1);
    const isFinal = !isWorthAnotherTry || failures >= platform.config.JOB_ATTEMPTS;
    platform.log.warn({ err: reason, failures, isFinal, ...record }, 'a job failed');
    if (!isFinal) {
      await look?.(sentenceOf(reason)).catch(() => undefined);
      throw reason;
    }
    await run.fail(reason);
    return 'failed';
  } finally {
    await watch.end();
  }
}

/** Its credentials may have been renewed since the work began; the next attempt takes those that the destination has now. */
function isRefusedKey(reason: unknown): boolean {
  return isEngineError(reason, 'STORAGE_PERMISSION_DENIED');
}
