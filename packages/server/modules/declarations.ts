import { type AnnouncedTable, changeTriggers } from '../platform/database/changes.sql.ts';
import { totalTriggers } from '../platform/database/totals.sql.ts';
import { sendMailJob } from '../platform/mail.ts';
import type { JobSettings } from '../platform/queue.ts';
import { platformSealedColumns, type SealedColumn } from '../platform/secrets/sealed-columns.ts';
import { authenticationFunctions } from './auth/authenticate.sql.ts';
import { authSealedColumns } from './auth/sealed-columns.ts';
import { backupJobs, keyCopyJob, purgeObjectsJob } from './backups/index.ts';
import { organizationSealedColumns } from './organizations/sealed-columns.ts';
import { pitrJobs } from './pitr/index.ts';
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
  keyCopyJob,
  purgeObjectsJob,
  ...restoreJobs,
  ...pitrJobs,
  finalEventJob,
];

/** Tables whose changes people see live. Deliveries are left out: a busy webhook has thousands a minute. */
const announcedTables: readonly AnnouncedTable[] = [
  { table: 'organizations', kind: 'organization' },
  { table: 'memberships', kind: 'member', columns: ['role'] },
  { table: 'invitations', kind: 'invitation' },
  { table: 'service_accounts', kind: 'service_account', columns: ['name', 'permissions', 'key_hash'] },
  { table: 'projects', kind: 'project' },
  { table: 'storage_destinations', kind: 'storage_destination' },
  { table: 'storage_tasks', kind: 'storage_task' },
  { table: 'backups', kind: 'backup' },
  { table: 'restores', kind: 'restore' },
  { table: 'drills', kind: 'drill' },
  { table: 'schedules', kind: 'schedule' },
  // Its window grows every few seconds, which is no news; whether it runs is.
  { table: 'pitr_logs', kind: 'pitr', columns: ['enabled', 'holder', 'error', 'retention_days'] },
  { table: 'webhooks', kind: 'webhook' },
];

const jobEndings = ['completed', 'failed', 'cancelled'];
/** Counted for the metrics, because the rows themselves are removed some day. */
const totalsCounted = totalTriggers(
  [
    { table: 'backups', name: 'backups', statuses: jobEndings },
    { table: 'restores', name: 'restores', statuses: jobEndings },
    { table: 'webhook_deliveries', name: 'deliveries', statuses: ['delivered', 'failed'] },
  ],
  [
    { table: 'backups', name: 'reads', column: 'reads_used' },
    { table: 'pitr_logs', name: 'reads', column: 'reads_used' },
  ],
);

/** Every database function the modules call. */
export const databaseFunctions: readonly string[] = [
  ...authenticationFunctions,
  ...changeTriggers(announcedTables),
  ...totalsCounted,
];

/** Every column that a rotation of the master key has to reseal. */
export const sealedColumns: readonly SealedColumn[] = [
  ...platformSealedColumns,
  ...authSealedColumns,
  ...organizationSealedColumns,
  ...projectSealedColumns,
  ...storageSealedColumns,
  ...webhookSealedColumns,
];
