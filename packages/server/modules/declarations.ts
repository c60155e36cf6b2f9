import { sendMailJob } from '../platform/mail.ts';
import type { JobDefinition } from '../platform/queue.ts';
import { authenticationFunctions } from './auth/authenticate.sql.ts';
import { backupJobs } from './backups/index.ts';
import { restoreJobs } from './restores/index.ts';
import { storageTaskJob } from './storage/index.ts';

/** Every kind of job, so that its queue exists before anything is enqueued. */
export const jobDefinitions = [
  sendMailJob,
  storageTaskJob,
  ...backupJobs,
  ...restoreJobs,
] as unknown as readonly JobDefinition<never>[];

/** Every database function the modules call. */
export const databaseFunctions: readonly string[] = [...authenticationFunctions];
