import type { DataOf, ItemOf } from './operation.ts';
import type { Operations } from './operations/index.ts';

/** The records of the API by name, for code that passes them around. */

export type AuditEntry = ItemOf<Operations['listAuditLogs']>;
export type AvailableProject = ItemOf<Operations['listAvailableProjects']>;
export type BackupDiff = DataOf<Operations['diffBackup']>;
export type BackupDocument = DataOf<Operations['getBackupDocument']>;
export type CostEstimate = DataOf<Operations['estimateProjectCost']>;
export type Drill = DataOf<Operations['startDrill']>;
export type DrillReport = NonNullable<Drill['report']>;
export type Invitation = ItemOf<Operations['listInvitations']>;
export type Member = ItemOf<Operations['listMembers']>;
export type Organization = DataOf<Operations['getOrganization']>;
export type Overview = DataOf<Operations['getOverview']>;
export type PitrWindow = DataOf<Operations['getPitr']>;
export type Project = DataOf<Operations['getProject']>;
export type Schedule = DataOf<Operations['getSchedule']>;
export type ScheduleRun = ItemOf<Operations['listScheduleRuns']>;
export type StorageDestination = DataOf<Operations['getStorageDestination']>;
export type StorageTask = DataOf<Operations['getStorageTask']>;
export type User = DataOf<Operations['getMe']>;
export type Webhook = ItemOf<Operations['listWebhooks']>;
export type WebhookDelivery = DataOf<Operations['retryDelivery']>;
