export {
  admissionOf,
  admit,
  type JobKind,
  jobKey,
  openPerOrganizationMax,
  pauseWork,
  requeueLostWork,
} from './admission.ts';
export { type AdmissionTable, type JobRecord, openRecords } from './admission-store.ts';
export { followJob } from './follow-job.ts';
export { isTransient, Superseded } from './job-ending.ts';
export { postponable } from './postpone.ts';
export { type JobOutcome, type JobRun, runJob } from './run-job.ts';
export { type JobWatch, stallAfterMs } from './watch-job.ts';
