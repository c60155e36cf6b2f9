import { sendMailJob } from '../platform/mail.ts';
import type { JobSettings } from '../platform/queue.ts';
import { platformSealedColumns, type SealedColumn } from '../platform/secrets/sealed-columns.ts';
import { authenticationFunctions } from './auth/authenticate.sql.ts';
import { authSealedColumns } from './auth/sealed-columns.ts';
import { backupJobs, purgeObjectsJob } from './backups/index.ts';
import { organizationSealedColumns } from './organizations/sealed-columns.ts';
import { projectSealedColumns } from './projects/sealed-columns.ts';
import { restoreJobs } from './restores/index.ts';
import { storageJobs } from './storage/index.ts';
import { storageSealedColumns } from './storage/sealed-columns.ts';
import { finalEventJob } from './webhooks/index.ts';
import { webhookSealedColumns } from './webhooks/sealed-columns.ts';

/** Every kind of job, so that its queue exists before anything is enqueued. */
export const jobDefinitions: readonly JobSettings[] = [
  sendMailJob,
  ...storageJobs,
  ...backupJobs,
  purgeObjectsJob,
  ...restoreJobs,
  finalEventJob,
];

/** Every database function the modules call. */
export const databaseFunctions: readonly string[] = [...authenticationFunctions];

/** Every column that a rotation of the master key has to seal anew. */
export const sealedColumns: readonly SealedColumn[] = [
  ...platformSealedColumns,
  ...authSealedColumns,
  ...organizationSealedColumns,
  ...projectSealedColumns,
  ...storageSealedColumns,
  ...webhookSealedColumns,
];
