export { isTransient, reasonOf, Superseded } from './job-ending.ts';
export { type JobOutcome, type JobRun, runJob } from './run-job.ts';
export { type JobWatch, stallAfterMs } from './watch-job.ts';
