import { z } from 'zod';
import { backupTriggers, backupTypes } from '../schemas/backups.ts';
import { jobStatuses, seconds } from '../schemas/jobs.ts';
import { bytes, count, email, identifier, text, timestamp } from '../schemas/primitives.ts';
import { mergeModes } from '../schemas/restores.ts';
import type { SimpleEventName } from './names.ts';
import { allowedEvents } from './names.ts';

/** The `data` of the simple format: flat, durations in seconds, and null for unknown values. */

const backupHead = {
  backupId: identifier('bkp'),
  projectId: identifier('prj'),
  projectName: text({ max: 100 }),
  type: z.enum(backupTypes),
  status: z.enum(jobStatuses),
};
const backupTail = {
  triggeredBy: z.enum(backupTriggers),
  scheduleId: identifier('sch').nullable(),
  createdAt: timestamp(),
};

const backupData = z.object({
  ...backupHead,
  documentsCount: count().nullable(),
  collectionsCount: count().nullable(),
  originalSize: bytes().nullable(),
  compressedSize: bytes().nullable(),
  duration: seconds().nullable().describe('Seconds.'),
  ...backupTail,
  completedAt: timestamp().nullable(),
});

const restoreData = z.object({
  restoreJobId: identifier('rst'),
  backupId: identifier('bkp').nullable(),
  projectId: identifier('prj'),
  projectName: text({ max: 100 }),
  targetProjectId: identifier('prj'),
  targetProjectName: text({ max: 100 }),
  status: z.enum(jobStatuses),
  documentsRestored: count().nullable(),
  collectionsRestored: count().nullable(),
  mergeMode: z.enum(mergeModes),
  duration: seconds().nullable().describe('Seconds.'),
  createdAt: timestamp(),
  completedAt: timestamp().nullable(),
});

const scheduleData = z.object({
  scheduleId: identifier('sch'),
  name: text({ max: 100 }),
  projectId: identifier('prj'),
  projectName: text({ max: 100 }),
  cronExpression: text({ max: 100 }),
  timezone: text({ max: 64 }),
  enabled: z.boolean(),
  nextRunAt: timestamp().nullable(),
  createdBy: z.object({ id: identifier(), email: email() }),
});

export const simpleData = {
  'backup.started': backupData,
  'backup.completed': backupData,
  'backup.failed': z.object({ ...backupHead, error: text({ max: 2000 }), ...backupTail, failedAt: timestamp() }),
  'restore.started': restoreData,
  'restore.completed': restoreData,
  'restore.failed': restoreData,
  'schedule.created': scheduleData,
  'schedule.updated': scheduleData,
  'schedule.deleted': scheduleData,
} as const satisfies Record<SimpleEventName, z.ZodType>;

/** The body of a delivery in the simple format. */
export const simpleEnvelope = z.object({
  event: z.enum(allowedEvents('simple') as [string, ...string[]]),
  timestamp: timestamp(),
  data: z.record(z.string(), z.unknown()),
});
