import { z } from 'zod';
import { collectionPath, collectionPaths } from './firestore.ts';
import { jobStatuses } from './jobs.ts';
import {
  firestoreName,
  identifier,
  integer,
  name,
  pageQuery,
  reference,
  text,
  timestamp,
  timeZone,
} from './primitives.ts';

/** Five fields; what each may hold is checked where the next run is computed. */
export const cron = () =>
  z
    .string()
    .min(9)
    .max(100)
    .regex(/^\S+(?: \S+){4}$/, { error: 'must be a cron expression of five fields' });

const retention = integer({ min: 1, max: 36_500 }).describe('Days.');
const policyCount = integer({ min: 0, max: 10_000 });
const retentionPolicy = z
  .strictObject({ daily: policyCount, weekly: policyCount, monthly: policyCount, yearly: policyCount })
  .partial()
  .meta({ id: 'RetentionPolicy', description: 'How many daily, weekly, monthly and yearly backups are kept.' });

const every = integer({ min: 1, max: 1000 });

export const schedule = z
  .object({
    id: identifier('sch'),
    name: text({ max: 100 }),
    projectId: identifier('prj'),
    cron: cron(),
    timezone: timeZone(),
    enabled: z.boolean(),
    type: z.enum(['full', 'incremental']),
    fullEvery: every.nullable().describe('Every n-th run is a full backup.'),
    incrementalEvery: every.nullable().describe('Every n-th run is an incremental backup.'),
    collections: z.array(firestoreName({ max: 6144 })).max(1000),
    excludeCollections: z.array(firestoreName({ max: 6144 })).max(1000),
    storageDestinationId: identifier('dst').nullable(),
    retention: retention.nullable(),
    retentionPolicy: retentionPolicy.nullable(),
    missedAfterMinutes: integer({ min: 1, max: 10_080 }),
    catchUp: z.enum(['latest', 'skip']),
    nextRunAt: timestamp().nullable(),
    lastRunAt: timestamp().nullable(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  })
  .meta({ id: 'Schedule', description: 'When a project is backed up by itself.' });

export const scheduleRun = z
  .object({
    dueAt: timestamp(),
    startedAt: timestamp().nullable(),
    status: z.enum([...jobStatuses, 'missed', 'skipped']),
    backupId: identifier('bkp').nullable(),
    reason: text({ max: 2000 }).nullable(),
  })
  .meta({ id: 'ScheduleRun', description: 'One due time of a schedule and what became of it.' });

const fields = {
  name,
  cron: cron(),
  timezone: timeZone().optional().describe("Absent: the organization's, else UTC."),
  enabled: z.boolean().default(true),
  type: z.enum(['full', 'incremental']).default('full'),
  fullEvery: every.optional(),
  incrementalEvery: every.optional(),
  collections: collectionPaths().default(['*']),
  excludeCollections: z.array(collectionPath()).max(1000).default([]),
  storageDestinationId: reference().optional(),
  retention: retention.optional(),
  retentionPolicy: retentionPolicy.optional(),
  missedAfterMinutes: integer({ min: 1, max: 10_080 }).default(15),
  catchUp: z.enum(['latest', 'skip']).default('latest'),
};

const oneRetention = (value: { retention?: unknown; retentionPolicy?: unknown }) =>
  !(value.retention && value.retentionPolicy);
const oneRetentionFault = { error: 'give either retention or retentionPolicy', path: ['retentionPolicy'] };

export const createScheduleRequest = z
  .strictObject({ ...fields, projectId: reference() })
  .refine(oneRetention, oneRetentionFault);

/** No defaults here: a field that is absent stays as it is. */
export const updateScheduleRequest = z
  .strictObject({
    name: name.optional(),
    cron: cron().optional(),
    timezone: timeZone().optional(),
    enabled: z.boolean().optional(),
    type: z.enum(['full', 'incremental']).optional(),
    fullEvery: every.nullable().optional(),
    incrementalEvery: every.nullable().optional(),
    collections: collectionPaths().optional(),
    excludeCollections: z.array(collectionPath()).max(1000).optional(),
    storageDestinationId: reference().nullable().optional(),
    retention: retention.nullable().optional(),
    retentionPolicy: retentionPolicy.nullable().optional(),
    missedAfterMinutes: integer({ min: 1, max: 10_080 }).optional(),
    catchUp: z.enum(['latest', 'skip']).optional(),
  })
  .refine(oneRetention, oneRetentionFault);

export const previewScheduleRequest = z.strictObject({
  cron: cron(),
  timezone: timeZone().optional(),
  count: integer({ min: 1, max: 100 }).default(10),
});

export const schedulePreview = z
  .object({ cron: cron(), timezone: timeZone(), runs: z.array(timestamp()).max(100) })
  .meta({ id: 'SchedulePreview', description: 'The next runs of an expression.' });

export const listSchedulesQuery = pageQuery.extend({ projectId: reference().optional() });
