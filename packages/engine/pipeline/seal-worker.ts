import { parentPort } from 'node:worker_threads';
import { runJob, type SealJob, toPlainError, transferables } from './seal-jobs.ts';

/** The body of a pool thread: one job at a time, answers in order. */
parentPort?.on('message', ({ job }: { job: SealJob }) => {
  try {
    const result = runJob(job);
    parentPort?.postMessage({ result }, transferables(result));
  } catch (error) {
    parentPort?.postMessage({ error: toPlainError(error) });
  }
});
