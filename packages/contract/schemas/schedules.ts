import { z } from 'zod';
import { collectionPaths, leftOutPaths } from './firestore.ts';
import {
  count,
  email,
  firestoreName,
  flag,
  identifier,
  integer,
  name,
  pageQuery,
  reference,
  text,
  timestamp,
  timeZone,
} from './primitives.ts';

/** Five fields, separated by any blanks; their contents are checked where the next run is computed. */
const fiveFields = { error: 'must have five fields: minute, hour, day, month, weekday' };
const cron = () =>
  z
    .string()
    .overwrite((given) => given.trim().replace(/\s+/g, ' '))
    .min(9, fiveFields)
    .max(100)
    .regex(/^\S+(?: \S+){4}$/, fiveFields);

const retention = integer({ min: 1, max: 36_500 }).describe('Days since completion.');
const policyCount = integer({ min: 0, max: 10_000 });
const retentionPolicy = z
  .strictObject({
    last: policyCount,
    daily: policyCount,
    weekly: policyCount,
    monthly: policyCount,
    yearly: policyCount,
  })
  .partial()
  .refine((policy) => Object.values(policy).some((kept = 0) => kept > 0), { error: 'must keep something' })
  .meta({
    id: 'RetentionPolicy',
    description:
      "The newest backups, and the newest of each of the last days, weeks, months and years that have one, in the schedule's time zone.",
  });

const every = integer({ min: 1, max: 1000 });
const scheduleTypes = ['full', 'incremental'] as const;
export const catchUps = ['latest', 'skip'] as const;
export const runStatuses = ['triggered', 'completed', 'failed', 'missed', 'skipped'] as const;

export const schedule = z
  .object({
    id: identifier('sch'),
    name: text({ max: 100 }),
    projectId: identifier('prj'),
    cron: cron(),
    cronExpression: cron().describe('The same as `cron`.'),
    timezone: timeZone(),
    enabled: z.boolean(),
    type: z.enum(scheduleTypes),
    fullEvery: every
      .nullable()
      .describe(
        'Every n-th run of an incremental schedule is a full backup; kept without effect while `type` is `full`, where all of them are.',
      ),
    collections: z.array(firestoreName({ max: 6144 })).max(1000),
    excludeCollections: z.array(firestoreName({ max: 6144 })).max(1000),
    includeSubcollections: z.boolean(),
    storageDestinationId: identifier('dst').nullable().describe("Null: the organization's default."),
    storageDestinationIds: z.array(identifier('dst')).max(20).describe("Empty: the organization's default."),
    retention: retention.nullable(),
    retentionPolicy: retentionPolicy.nullable(),
    catchUp: z.enum(catchUps),
    missedAfterMinutes: integer({ min: 1, max: 10_080 }),
    drillEvery: every.nullable().describe('Every n-th run is proven by a drill.'),
    verifyEvery: every.nullable().describe('Every n-th run is verified.'),
    lastRun: z
      .object({ dueAt: timestamp(), status: z.enum(runStatuses), backupId: identifier('bkp').nullable() })
      .nullable(),
    nextRunAt: timestamp().nullable().describe('Always in the future; null when disabled.'),
    createdBy: z.object({ id: identifier(), email: email().nullable() }).nullable(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  })
  .meta({ id: 'Schedule', description: 'When a project is backed up automatically.' });

export const scheduleRun = z
  .object({
    id: identifier('run'),
    dueAt: timestamp().describe('When it was due, or when it was asked for by hand.'),
    startedAt: timestamp().nullable(),
    status: z.enum(runStatuses),
    reason: text({ max: 2000 }).nullable(),
    backupId: identifier('bkp').nullable(),
  })
  .meta({ id: 'ScheduleRun', description: 'One due time of a schedule and its result.' });

/** What a caller may set; a new schedule gets defaults for the rest. */
const changeable = {
  name,
  cron: cron(),
  timezone: timeZone(),
  enabled: z.boolean(),
  type: z.enum(scheduleTypes),
  fullEvery: every,
  collections: collectionPaths(),
  excludeCollections: leftOutPaths(),
  includeSubcollections: z.boolean(),
  storageDestinationId: reference(),
  storageDestinationIds: z.array(reference()).min(1).max(20),
  retention,
  retentionPolicy,
  missedAfterMinutes: integer({ min: 1, max: 10_080 }),
  catchUp: z.enum(catchUps),
  drillEvery: every,
  verifyEvery: every,
};

type Either = Partial<
  Record<'retention' | 'retentionPolicy' | 'storageDestinationId' | 'storageDestinationIds', unknown>
>;
const oneRetention = (value: Either) => !(value.retention && value.retentionPolicy);
const oneRetentionFault = { error: 'give either retention or retentionPolicy', path: ['retentionPolicy'] };
const oneDestination = (value: Either) => !(value.storageDestinationId && value.storageDestinationIds);
const oneDestinationFault = {
  error: 'give either storageDestinationId or storageDestinationIds',
  path: ['storageDestinationIds'],
};

export const createScheduleRequest = z
  .strictObject({
    ...changeable,
    projectId: reference(),
    timezone: timeZone().optional().describe("Absent: the organization's, else UTC."),
    enabled: z.boolean().default(true),
    type: z.enum(scheduleTypes).default('full'),
    fullEvery: every.optional().describe('Absent: 7 for incremental backups.'),
    collections: collectionPaths().default(['*']),
    excludeCollections: changeable.excludeCollections.default([]),
    includeSubcollections: z.boolean().default(true),
    storageDestinationId: reference().optional(),
    storageDestinationIds: changeable.storageDestinationIds.optional(),
    retention: retention.optional(),
    retentionPolicy: retentionPolicy.optional(),
    missedAfterMinutes: changeable.missedAfterMinutes.default(15),
    catchUp: z.enum(catchUps).default('latest'),
    drillEvery: every.optional(),
    verifyEvery: every.optional(),
  })
  .refine(oneRetention, oneRetentionFault)
  .refine(oneDestination, oneDestinationFault);

/** No defaults here: an absent field stays as it is, and null resets it to the default. */
export const updateScheduleRequest = z
  .strictObject({
    ...changeable,
    fullEvery: every.nullable(),
    storageDestinationId: reference().nullable(),
    storageDestinationIds: changeable.storageDestinationIds.nullable(),
    retention: retention.nullable(),
    retentionPolicy: retentionPolicy.nullable(),
    drillEvery: every.nullable(),
    verifyEvery: every.nullable(),
  })
  .partial()
  .refine(oneRetention, oneRetentionFault)
  .refine(oneDestination, oneDestinationFault);

export const previewScheduleRequest = z.strictObject({
  cron: cron(),
  timezone: timeZone().optional().describe("Absent: the organization's, else UTC."),
  count: integer({ min: 1, max: 100 }).default(10),
});

export const schedulePreview = z
  .object({
    cron: cron(),
    timezone: timeZone(),
    description: text({ max: 500 }).describe('The expression in words, such as: Every day at 02:30.'),
    runs: z.array(timestamp()).max(100).describe('The next runs.'),
    localRuns: z
      .array(text({ max: 200 }))
      .max(100)
      .describe('The same in local time, with a note where the clock changes.'),
    runsPerYear: count()
      .optional()
      .describe('How often it is due within the next 365 days, without changes of the clock.'),
  })
  .meta({ id: 'SchedulePreview', description: 'The next runs of an expression.' });

/** Why a backup is kept: a rule of the policy, or something that overrides the policy. */
export const keepers = [
  'retention',
  'last',
  'daily',
  'weekly',
  'monthly',
  'yearly',
  'dependency',
  'legal_hold',
  'object_lock',
  'in_use',
  'point_in_time',
  'newest_good',
  'safety',
  'frozen',
] as const;

export const retentionPreviewEntry = z
  .object({
    backupId: identifier('bkp'),
    completedAt: timestamp(),
    countsFrom: timestamp().describe(
      'Its age is counted from here: its completion, or for a merged backup the completion of the backup that it replaces.',
    ),
    type: z.enum(['full', 'incremental', 'synthetic']),
    keptBy: z
      .array(z.object({ rule: z.enum(keepers), detail: text({ max: 500 }).nullable() }))
      .max(20)
      .describe('Empty: nothing keeps it.'),
    removedAt: timestamp().nullable().describe('When it would be removed; null while a rule without an end keeps it.'),
  })
  .meta({ id: 'RetentionPreviewEntry', description: 'What keeps a backup, or when it would be removed.' });

export const listSchedulesQuery = pageQuery.extend({
  projectId: reference().optional(),
  enabled: flag().optional(),
});

export const deleteScheduleQuery = z.object({
  deleteBackups: flag()
    .optional()
    .describe('Also delete its backups. This needs the right to delete backups. Otherwise they stay.'),
});
