import type { z } from 'zod';
import type { EventName, SimpleEventName } from './names.ts';
import type { simpleData } from './simple.ts';
import type { standardData } from './standard.ts';

/** One story through all events, shown in test deliveries and the documents. */

const createdAt = '2026-03-01T02:00:00.000Z';
const completedAt = '2026-03-01T02:01:25.500Z';
const organization = { id: 'org_01JNF3Q8ZK4T7V9XRA', name: 'Acme' };
const project = { id: 'prj_01JNF3QAB2M6W8YC4E', name: 'Shop', sourceProjectId: 'acme-shop' };
const actor = { type: 'user', id: 'usr_01JNF3Q7P5D9G2H6JK', email: 'ada@acme.test' } as const;
const storageDestination = { id: 'dst_01JNF3QC8R3S5T7V9X', name: 'Main bucket', type: 's3' } as const;
const scheduleId = 'sch_01JNF3QE1A4C6E8G2J';
const backupId = 'bkp_01JNF3QG5K7M9P2R4T';

const error = {
  code: 'SOURCE_AUTH_ERROR',
  message: 'The source project refused our credentials.',
  details: {
    retryable: false,
    advice: 'Reconnect the project (holdfast project reconnect, or its page in the dashboard), then start again.',
  },
} as const;

type SampleBackup = z.infer<(typeof standardData)['backup.started']>['backup'];

const startedBackup: SampleBackup = {
  id: backupId,
  projectId: project.id,
  type: 'full',
  status: 'running',
  storageDestination,
  collections: ['*'],
  createdAt,
};
const completedBackup: SampleBackup = {
  ...startedBackup,
  status: 'completed',
  size: 52_428_800,
  sizeFormatted: '50.0 MB',
  duration: 85_500,
  durationFormatted: '1m 25s',
  documentCount: 120_000,
  completedAt,
};

const runningRestore = {
  id: 'rst_01JNF3QJ9V2X4Z6B8D',
  backupId,
  status: 'running',
  phase: 'Initializing',
  percent: 0,
  mergeMode: 'overwrite',
  documentsRestored: 0,
  collectionsRestored: 0,
  createdAt,
} as const;
const restoreOf = (restore: z.infer<(typeof standardData)['restore.started']>['restore']) => ({
  restore,
  project,
  targetProject: project,
  organization,
});

const schedule = {
  id: scheduleId,
  name: 'Nightly',
  projectId: project.id,
  cronExpression: '0 2 * * *',
  timezone: 'Europe/Berlin',
  enabled: true,
  nextRunAt: '2026-03-02T01:00:00.000Z',
};
const pitr = { enabled: true, status: 'running', coveredFrom: createdAt, coveredTo: completedAt } as const;
const member = { id: 'usr_01JNF3QM3F5H7K9M2P', email: 'grace@acme.test', name: 'Grace', role: 'member' } as const;
const invitation = {
  id: 'inv_01JNF3QP7R9T2V4X6Z',
  email: 'grace@acme.test',
  role: 'member',
  expiresAt: '2026-03-08T02:00:00.000Z',
} as const;

export const standardSamples: { readonly [N in EventName]: z.infer<(typeof standardData)[N]> } = {
  'backup.started': { backup: startedBackup, project, organization },
  'backup.progress': {
    backup: startedBackup,
    project,
    organization,
    progress: { percent: 50, documents: 60_000, bytes: 26_214_400 },
  },
  'backup.completed': { backup: completedBackup, project, organization },
  'backup.failed': { backup: { id: backupId, status: 'failed', error }, project, organization },
  'backup.anomaly': {
    backup: { ...completedBackup, documentCount: 40_000 },
    project,
    organization,
    reason: 'documents_shrank',
    before: { backupId: 'bkp_01JNC1QG5K7M9P2R4T', documentCount: 120_000, collection: null },
    after: { backupId, documentCount: 40_000, collection: null },
  },
  'restore.started': restoreOf(runningRestore),
  'restore.progress': restoreOf({
    ...runningRestore,
    phase: 'Restoring',
    percent: 50,
    documentsRestored: 60_000,
    collectionsRestored: 3,
  }),
  'restore.completed': restoreOf({
    ...runningRestore,
    status: 'completed',
    phase: 'Completed',
    percent: 100,
    documentsRestored: 120_000,
    collectionsRestored: 7,
    duration: 85_500,
    completedAt,
  }),
  'restore.failed': restoreOf({
    ...runningRestore,
    status: 'failed',
    phase: 'Restoring',
    percent: 50,
    documentsRestored: 60_000,
    collectionsRestored: 3,
    completedAt,
    error: {
      code: 'RESTORE_QUOTA_EXCEEDED',
      message: 'The target project has used up its write quota.',
      details: {
        retryable: true,
        advice: 'Wait until the quota of the Google project resets or raise it, then resume the restore.',
      },
    },
  }),
  'pitr.enabled': { project, pitr },
  'pitr.disabled': { project, pitr: { ...pitr, enabled: false, status: 'stopped' } },
  'pitr.change_captured': {
    project: { id: project.id, name: project.name },
    changes: { count: 42, fromTimestamp: createdAt, toTimestamp: completedAt, collections: ['orders', 'users'] },
  },
  'pitr.anomaly': {
    project,
    anomaly: {
      reason: 'mass_deletion',
      deletes: 5021,
      documents: 5300,
      momentBefore: createdAt,
      suggestedPointInTime: createdAt,
      collections: ['orders'],
    },
  },
  'schedule.created': { schedule, project },
  'schedule.updated': { schedule, project },
  'schedule.deleted': { schedule: { ...schedule, enabled: false, nextRunAt: null }, project },
  'schedule.triggered': { schedule, project, backupId },
  'schedule.failed': {
    schedule,
    project,
    reason: 'The run was missed by more than 15 minutes.',
    expectedAt: createdAt,
  },
  'storage.connected': { storageDestination },
  'storage.error': {
    storageDestination,
    error: {
      code: 'STORAGE_PERMISSION_DENIED',
      message: 'The storage destination refused our credentials.',
      details: {
        retryable: false,
        advice: 'Give the credentials the right to read, write, list and delete in the bucket.',
      },
    },
  },
  'project.created': { project },
  'project.deleted': { project },
  'organization.created': { organization, actor },
  'organization.updated': { organization, actor },
  'organization.deleted': { organization, actor, deletionType: 'soft' },
  'member.joined': { organization, actor, member },
  'member.left': { organization, actor, member },
  'member.role_changed': { organization, actor, member: { ...member, role: 'admin', previousRole: 'member' } },
  'invitation.created': { organization, actor, invitation },
  'invitation.accepted': { organization, actor, invitation, member },
};

const simpleBackup = { backupId, projectId: project.id, projectName: project.name, type: 'full' } as const;
const triggered = { triggeredBy: 'scheduled', scheduleId, createdAt } as const;
const simpleRestore = {
  restoreJobId: runningRestore.id,
  backupId,
  projectId: project.id,
  projectName: project.name,
  targetProjectId: project.id,
  targetProjectName: project.name,
  mergeMode: 'overwrite',
  createdAt,
} as const;
const simpleSchedule = {
  scheduleId,
  name: schedule.name,
  projectId: project.id,
  projectName: project.name,
  cronExpression: schedule.cronExpression,
  timezone: schedule.timezone,
  enabled: true,
  nextRunAt: schedule.nextRunAt,
  createdBy: { id: actor.id, email: actor.email },
};

export const simpleSamples: { readonly [N in SimpleEventName]: z.infer<(typeof simpleData)[N]> } = {
  'backup.started': {
    ...simpleBackup,
    status: 'running',
    documentsCount: null,
    collectionsCount: null,
    originalSize: null,
    compressedSize: null,
    duration: null,
    ...triggered,
    completedAt: null,
  },
  'backup.completed': {
    ...simpleBackup,
    status: 'completed',
    documentsCount: 120_000,
    collectionsCount: 7,
    originalSize: 52_428_800,
    compressedSize: 13_107_200,
    duration: 85.5,
    ...triggered,
    completedAt,
  },
  'backup.failed': { ...simpleBackup, status: 'failed', error: error.message, ...triggered, failedAt: completedAt },
  'restore.started': {
    ...simpleRestore,
    status: 'running',
    documentsRestored: null,
    collectionsRestored: null,
    duration: null,
    completedAt: null,
  },
  'restore.completed': {
    ...simpleRestore,
    status: 'completed',
    documentsRestored: 120_000,
    collectionsRestored: 7,
    duration: 85.5,
    completedAt,
  },
  'restore.failed': {
    ...simpleRestore,
    status: 'failed',
    documentsRestored: 60_000,
    collectionsRestored: 3,
    duration: 40.2,
    completedAt,
  },
  'schedule.created': simpleSchedule,
  'schedule.updated': simpleSchedule,
  'schedule.deleted': { ...simpleSchedule, enabled: false, nextRunAt: null },
};

/** The event's own metadata, besides its delivery: what started the job. */
export function sampleMetadata(name: EventName): { trigger?: 'scheduled'; scheduleId?: string } {
  const isOfRun = name.startsWith('backup.') || name === 'schedule.triggered' || name === 'schedule.failed';
  return isOfRun ? { trigger: 'scheduled', scheduleId } : {};
}
