export {
  admissionOf,
  admit,
  type JobKind,
  jobKey,
  openPerOrganizationMax,
  requeueLostWork,
  standStill,
} from './admission.ts';
export { followJob } from './follow-job.ts';
export { sideWork } from './giving-way.ts';
export { isTransient, Superseded } from './job-ending.ts';
export { type JobOutcome, type JobRun, runJob } from './run-job.ts';
export { type JobRecord, openRecords, type TurnTable } from './turn-store.ts';
export { type JobWatch, stallAfterMs } from './watch-job.ts';
