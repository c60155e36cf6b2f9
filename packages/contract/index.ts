export * from './access.ts';
export * from './durations.ts';
export { type JobErrorDetails, jobErrorDetails } from './error-details.ts';
export * from './errors.ts';
export * from './events.ts';
export { requestExamples } from './examples.ts';
export * from './operation.ts';
export * from './operations/index.ts';
export { pathOf } from './path.ts';
export type * from './records.ts';
export { auditExportFormats } from './schemas/audit.ts';
export { type AuditAction, auditActions } from './schemas/audit-actions.ts';
export {
  anomalyReasons,
  type Backup,
  type BackupTrigger,
  backupTriggers,
  backupTypes,
  couldNotRead,
  importSources,
  unreadCodes,
  type WarningCode,
  warningCodes,
} from './schemas/backups.ts';
export type { CollectionNode, FirestoreValue } from './schemas/firestore.ts';
export { type JobError, type JobStatus, jobStatuses } from './schemas/jobs.ts';
export { notificationEvents } from './schemas/organizations.ts';
export { changeKinds, protectionReasons, protectionStates } from './schemas/overview.ts';
export * from './schemas/primitives.ts';
export { connectionTypes, pitrStatuses } from './schemas/projects.ts';
export { mergeModes, type Restore, type RestorePhase, restorePhases } from './schemas/restores.ts';
export { catchUps, keepers, runStatuses } from './schemas/schedules.ts';
export { storageTestSteps, storageTypes } from './schemas/storage.ts';
export { isReservedHeader } from './schemas/webhooks.ts';
