import { z } from 'zod';
import { serviceAccountKey } from './firestore.ts';
import { jobError, jobStatuses, progress } from './jobs.ts';
import { bytes, count, identifier, integer, milliseconds, name, reference, text, timestamp } from './primitives.ts';

export const storageTypes = ['s3', 'gcs', 'spaces', 'local'] as const;

const bucket = z
  .string()
  .min(3)
  .max(222)
  .regex(/^[a-z0-9][a-z0-9._-]*[a-z0-9]$/, { error: 'must be the name of a bucket' });
const region = z
  .string()
  .min(1)
  .max(64)
  .regex(/^[a-zA-Z0-9-]+$/, { error: 'must be the name of a region' });
const endpoint = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).max(2048);
const prefix = text({ max: 500 })
  .refine((value) => !value.startsWith('/') && !value.includes('//'), {
    error: 'must not begin with a slash or hold an empty segment',
  })
  .refine((value) => !value.split('/').some((segment) => segment === '.' || segment === '..'), {
    error: 'must not hold . or .. as a segment',
  })
  .refine((value) => /^[A-Za-z0-9._/-]*$/.test(value), {
    error: 'must be made of letters A to Z, digits, dots, hyphens, underscores and slashes',
  });

const objectLock = z
  .strictObject({ mode: z.enum(['governance', 'compliance']), days: integer({ min: 1, max: 36_500 }) })
  .meta({
    id: 'ObjectLock',
    description: 'Objects are written so that nobody can delete them before the days are over.',
  });

/** How other records show a destination. */
export const storageDestinationSummary = z
  .object({ id: identifier('dst'), name: text({ max: 100 }), type: z.enum(storageTypes) })
  .meta({ id: 'StorageDestinationSummary', description: 'Where a backup is stored.' });

export const storageTestSteps = ['connect', 'write', 'read', 'range', 'list', 'delete', 'objectLock'] as const;

export const storageTest = z
  .object({
    ok: z.boolean(),
    steps: z
      .array(
        z.object({
          name: z.enum(storageTestSteps),
          ok: z.boolean(),
          durationMs: milliseconds(),
          error: text({ max: 2000 }).nullable(),
        }),
      )
      .max(20),
    keepsVersions: z
      .boolean()
      .nullable()
      .describe(
        'Whether the bucket keeps what is deleted as hidden versions, as far as the credentials may ask; null for a folder, and where the test did not come so far.',
      ),
  })
  .meta({
    id: 'StorageTest',
    description:
      'What happened when a probe object was written, read, listed and deleted, and whether the bucket can lock objects if the destination asks for it.',
  });

export const storageDestination = z
  .object({
    id: identifier('dst'),
    name: text({ max: 100 }),
    type: z.enum(storageTypes),
    bucket: text({ max: 222 }).nullable().describe('Null for a local folder.'),
    region: text({ max: 64 }).nullable(),
    endpoint: text({ max: 2048 }).nullable(),
    prefix: text({ max: 500 }),
    path: text({ max: 1000 }).nullable().describe('The folder of a local destination.'),
    forcePathStyle: z.boolean(),
    objectLock: objectLock.nullable(),
    status: z.enum(['connected', 'error']),
    error: jobError.nullable(),
    lastCheckedAt: timestamp().nullable(),
    lastTest: storageTest
      .extend({ at: timestamp() })
      .nullable()
      .describe(
        'The last test with its steps: asked for, or made when the destination was added, changed or in error.',
      ),
    isDefault: z.boolean().describe('Whether backups without a destination of their own are stored there.'),
    usage: z.object({ backups: count(), bytes: bytes() }),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  })
  .meta({
    id: 'StorageDestination',
    description: 'A place for backups that belongs to the customer. Credentials are never shown.',
  });

export const storageProject = z
  .object({
    projectId: identifier('prj'),
    name: text({ max: 100 }).nullable().describe('Null for a project that is not known here.'),
    isConnected: z.boolean().describe('False after it was disconnected: nothing new is stored, what is there stays.'),
    backups: count().describe('Completed backups with a copy there.'),
    bytes: bytes(),
    newestBackupAt: timestamp().nullable().describe('The time of the newest data in them.'),
    log: z
      .object({ enabled: z.boolean(), segments: count(), bytes: bytes(), coveredThrough: timestamp() })
      .nullable()
      .describe('The log of point-in-time recovery, if it is stored there.'),
  })
  .meta({ id: 'StorageProject', description: 'What a destination holds of one project.' });

export const availableBucket = z
  .object({ name: text({ max: 222 }), region: text({ max: 64 }).nullable(), createdAt: timestamp().nullable() })
  .meta({ id: 'AvailableBucket', description: 'A bucket the credentials can see.' });

export const orphan = z
  .object({ key: text({ max: 1024 }), bytes: bytes(), lastModified: timestamp() })
  .meta({ id: 'Orphan', description: 'An object of ours that no backup owns.' });

export const storageTask = z
  .object({
    id: identifier('tsk'),
    storageDestinationId: identifier('dst'),
    kind: z.enum(['rescan', 'sweep', 'migrate', 'purge']),
    status: z.enum(jobStatuses),
    progress,
    result: z
      .object({
        found: count().optional().describe('Backups or objects that were checked.'),
        registered: count().optional().describe('Backups that were unknown before.'),
        relinked: count()
          .optional()
          .describe(
            'Backups that the catalogue believed to be elsewhere or lost and that are linked to this destination again, and parts of captured time that it did not know.',
          ),
        missing: count()
          .optional()
          .describe(
            'Backups and captured segments that should be here and are not: the copy is marked as failed, the time is a gap.',
          ),
        skipped: count().optional().describe('What was left alone: too recent, unreadable, or not certainly ours.'),
        removed: count().optional().describe('Objects that were deleted; for a purge, versions.'),
        versionsKept: z
          .boolean()
          .optional()
          .describe('The bucket keeps versions: what was removed is hidden and can be brought back, not gone.'),
        locked: count().optional().describe('Versions that stay because of an object lock or a hold.'),
        removable: count().optional().describe('What a purge would remove, counted by a dry run.'),
        dryRun: z.boolean().optional().describe('Nothing was removed; it was only counted.'),
        copied: count().optional().describe('Backups that were copied and verified.'),
        stillUsedBy: z
          .array(z.object({ type: text({ max: 40 }), id: text({ max: 64 }) }))
          .max(100)
          .optional()
          .describe(
            'For a migration: schedules and others that still write to the old destination, and the organization if it is the default there, until they are given another.',
          ),
        bytes: bytes().optional(),
        failures: z
          .array(z.object({ key: text({ max: 1024 }), reason: text({ max: 2000 }) }))
          .max(100)
          .optional(),
      })
      .nullable(),
    error: jobError.nullable(),
    createdAt: timestamp(),
    completedAt: timestamp().nullable(),
  })
  .meta({ id: 'StorageTask', description: 'Work on a destination that continues after the call.' });

const keyPair = z
  .strictObject({ accessKeyId: text({ min: 1, max: 256 }), secretAccessKey: text({ min: 1, max: 1024 }) })
  .meta({ id: 'AccessKeyPair', description: 'Sealed at rest, never returned.' });
const googleKey = z.strictObject({ serviceAccountKey: serviceAccountKey() });

const isDefault = z.boolean().describe('Absent: the first destination that works becomes the default.');
const common = { name, prefix: prefix.default(''), isDefault: isDefault.optional() };
const s3Address = { region: region.optional(), endpoint: endpoint.optional(), forcePathStyle: z.boolean().optional() };
const bucketCommon = { ...common, bucket, objectLock: objectLock.nullable().optional() };

export const createStorageRequest = z.discriminatedUnion('type', [
  z.strictObject({ ...bucketCommon, ...s3Address, type: z.literal('s3'), credentials: keyPair }),
  z
    .strictObject({ ...bucketCommon, ...s3Address, type: z.literal('spaces'), credentials: keyPair })
    .refine((value) => value.region !== undefined || value.endpoint !== undefined, {
      error: 'is required: the endpoint follows from it',
      path: ['region'],
    }),
  z.strictObject({
    ...bucketCommon,
    type: z.literal('gcs'),
    region: region.optional(),
    credentials: googleKey,
  }),
  z.strictObject({
    ...common,
    type: z.literal('local'),
    path: text({ min: 1, max: 1000 }).describe("A folder below the organization's own, in the data folder."),
  }),
]);

/** The prefix cannot change. A new bucket must already contain a copy of the backups; `migrate` moves them. */
export const updateStorageRequest = z.strictObject({
  name: name.optional(),
  bucket: bucket.optional(),
  region: region.optional(),
  endpoint: endpoint.nullable().optional(),
  forcePathStyle: z.boolean().optional(),
  objectLock: objectLock.nullable().optional(),
  isDefault: z.boolean().optional(),
  credentials: z
    .union([keyPair, googleKey], { error: 'must be an access key pair or a service account key' })
    .optional(),
});

export const listBucketsRequest = z.discriminatedUnion('type', [
  z.strictObject({ ...s3Address, type: z.literal('s3'), credentials: keyPair }),
  z.strictObject({ ...s3Address, type: z.literal('spaces'), credentials: keyPair }),
  z.strictObject({ type: z.literal('gcs'), credentials: googleKey }),
]);

export const migrateStorageRequest = z.strictObject({ toStorageDestinationId: reference() });

export const purgeStorageRequest = z.strictObject({
  dryRun: z.boolean().optional().describe('Counts what would be removed, and removes nothing.'),
});
