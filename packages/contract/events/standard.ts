import { z } from 'zod';
import { roles } from '../access.ts';
import { jobErrorDetails } from '../error-details.ts';
import type { JobErrorCode } from '../errors.ts';
import { jobErrorCodes } from '../errors.ts';
import { anomaly, backupTriggers, backupTypes } from '../schemas/backups.ts';
import { jobStatuses } from '../schemas/jobs.ts';
import {
  bytes,
  count,
  email,
  firestoreName,
  identifier,
  integer,
  milliseconds,
  percent,
  text,
  timestamp,
} from '../schemas/primitives.ts';
import { pitrStatuses } from '../schemas/projects.ts';
import { mergeModes, restorePhases } from '../schemas/restores.ts';
import { storageDestinationSummary } from '../schemas/storage.ts';
import { eventNames } from './names.ts';

/** The `data` of the standard format. An unknown field is absent. */

const project = z.object({ id: identifier('prj'), name: text({ max: 100 }), sourceProjectId: text({ max: 100 }) });
const organization = z.object({ id: identifier('org'), name: text({ max: 100 }) });
const person = z.object({ id: identifier('usr'), email: email(), name: text({ max: 200 }).optional() });
const actor = z
  .object({
    type: z.enum(['user', 'service_account', 'system']),
    id: identifier().nullable(),
    email: email().nullable(),
  })
  .describe('Who did it.');

const error = z.object({
  code: z.enum(jobErrorCodes as [JobErrorCode, ...JobErrorCode[]]),
  message: text({ max: 2000 }),
  details: jobErrorDetails
    .extend({ retryable: z.boolean(), advice: text({ max: 1000 }) })
    .meta({ id: 'EventErrorDetails', description: 'What is known about the failure, and how to fix it.' }),
});

const backup = z.object({
  id: identifier('bkp'),
  projectId: identifier('prj'),
  type: z.enum(backupTypes),
  status: z.enum(jobStatuses),
  size: bytes().optional(),
  sizeFormatted: text({ max: 30 }).optional(),
  duration: milliseconds().optional().describe('Milliseconds.'),
  durationFormatted: text({ max: 30 }).optional(),
  storageDestination: storageDestinationSummary.optional(),
  collections: z.array(firestoreName({ max: 6144 })).max(1000),
  documentCount: count().optional(),
  createdAt: timestamp(),
  completedAt: timestamp().optional(),
});

const backupData = z.object({ backup, project, organization });

const restore = z.object({
  id: identifier('rst'),
  backupId: identifier('bkp').optional(),
  status: z.enum(jobStatuses),
  phase: z.enum(restorePhases),
  percent: percent(),
  mergeMode: z.enum(mergeModes),
  documentsRestored: count(),
  collectionsRestored: count(),
  duration: milliseconds().optional().describe('Milliseconds.'),
  createdAt: timestamp(),
  completedAt: timestamp().optional(),
  error: error.optional(),
});
const restoreData = z.object({ restore, project, targetProject: project, organization });

const schedule = z.object({
  id: identifier('sch'),
  name: text({ max: 100 }),
  projectId: identifier('prj'),
  cronExpression: text({ max: 100 }),
  timezone: text({ max: 64 }),
  enabled: z.boolean(),
  nextRunAt: timestamp().nullable(),
});
const scheduleData = z.object({ schedule, project });

const pitr = z.object({
  enabled: z.boolean(),
  status: z.enum(pitrStatuses),
  coveredFrom: timestamp().nullable(),
  coveredTo: timestamp().nullable(),
});

const member = person.extend({ role: z.enum(roles), previousRole: z.enum(roles).optional() });
const invitation = z.object({ id: identifier('inv'), email: email(), role: z.enum(roles), expiresAt: timestamp() });
const organizationData = z.object({ organization, actor });
const memberData = organizationData.extend({ member });
const invitationData = organizationData.extend({ invitation });

export const standardData = {
  'backup.started': backupData,
  'backup.progress': backupData.extend({
    progress: z.object({ percent: percent(), documents: count(), bytes: bytes() }),
  }),
  'backup.completed': backupData,
  'backup.failed': z.object({
    backup: z.object({ id: identifier('bkp'), status: z.literal('failed'), error }),
    project,
    organization,
  }),
  'backup.anomaly': backupData.extend(anomaly.shape),
  'restore.started': restoreData,
  'restore.progress': restoreData,
  'restore.completed': restoreData,
  'restore.failed': restoreData,
  'pitr.enabled': z.object({ project, pitr }),
  'pitr.disabled': z.object({ project, pitr }),
  'pitr.change_captured': z.object({
    project: project.pick({ id: true, name: true }),
    changes: z.object({
      count: count(),
      fromTimestamp: timestamp(),
      toTimestamp: timestamp(),
      collections: z.array(firestoreName({ max: 6144 })).max(1000),
    }),
  }),
  'pitr.anomaly': z.object({
    project,
    anomaly: z.object({
      reason: z.literal('mass_deletion'),
      deletes: count(),
      documents: count().describe('Documents in the newest base.'),
      momentBefore: timestamp().describe('The moment just before.'),
      suggestedPointInTime: timestamp()
        .nullable()
        .describe(
          'The same moment, or the last one before it that can be restored, if it lies in a gap or before a base; null if there is none.',
        ),
      collections: z.array(firestoreName({ max: 1500 })).max(100),
    }),
  }),
  'schedule.created': scheduleData,
  'schedule.updated': scheduleData,
  'schedule.deleted': scheduleData,
  'schedule.triggered': scheduleData.extend({ backupId: identifier('bkp') }),
  'schedule.failed': scheduleData.extend({ reason: text({ max: 2000 }), expectedAt: timestamp() }),
  'storage.connected': z.object({ storageDestination: storageDestinationSummary }),
  'storage.error': z.object({ storageDestination: storageDestinationSummary, error }),
  'project.created': z.object({ project }),
  'project.deleted': z.object({ project }),
  'organization.created': organizationData,
  'organization.updated': organizationData,
  'organization.deleted': organizationData.extend({ deletionType: z.enum(['soft', 'permanent']) }),
  'member.joined': memberData,
  'member.left': memberData,
  'member.role_changed': memberData,
  'invitation.created': invitationData,
  'invitation.accepted': invitationData.extend({ member }),
} as const;

export const standardMetadata = z
  .object({
    trigger: z.enum(backupTriggers).optional().describe('What started the job.'),
    scheduleId: identifier('sch')
      .nullable()
      .optional()
      .describe(
        'On every backup event, null if no schedule started the backup; on `schedule.triggered` and `schedule.failed`.',
      ),
    attempt: integer({ min: 1, max: 1000 }).describe('The attempt of this delivery.'),
    deliveryId: identifier('dlv').describe('The same on every attempt; use it to detect duplicates.'),
    maxAttempts: integer({ min: 1, max: 5 })
      .optional()
      .describe(
        'On `*.failed` events: the number of automatic attempts. Attempts that somebody requests count too, so `attempt` may be larger.',
      ),
    willRetry: z
      .boolean()
      .optional()
      .describe('On `*.failed` events: whether another attempt follows if this one fails.'),
  })
  .meta({ id: 'EventMetadata', description: 'About the delivery rather than the event.' });

/** The body of a delivery in the standard format. */
export const standardEnvelope = z.object({
  id: identifier('evt'),
  type: z.enum(eventNames),
  timestamp: timestamp(),
  data: z.record(z.string(), z.unknown()),
  metadata: standardMetadata,
});
