import { z } from 'zod';
import type { JobErrorCode } from '../errors.ts';
import { jobErrorCodes } from '../errors.ts';
import { collectionPath, collectionPaths, documentPath, firestoreValue, leftOutPaths } from './firestore.ts';
import { currency, jobError, jobStatuses, money, progress, seconds } from './jobs.ts';
import {
  bytes,
  count,
  firestoreName,
  firestoreTime,
  identifier,
  instant,
  integer,
  milliseconds,
  pageQuery,
  percent,
  queryNumber,
  rangeEnd,
  rangeStart,
  reference,
  sha256,
  text,
  timestamp,
} from './primitives.ts';
import { storageDestinationSummary } from './storage.ts';

export const backupTypes = ['full', 'incremental', 'synthetic'] as const;
export const backupTriggers = ['manual', 'scheduled', 'api', 'pre_restore', 'pitr'] as const;
export type BackupTrigger = (typeof backupTriggers)[number];

const snapshotShare = z
  .object({ time: timestamp(), percent: percent(), documents: count() })
  .meta({ id: 'SnapshotShare', description: 'A part of the database and the instant it was read at.' });

const copy = z
  .object({
    storageDestinationId: identifier('dst'),
    status: z.enum(['pending', 'writing', 'completed', 'failed']),
    error: jobError.nullable(),
  })
  .meta({ id: 'BackupCopy', description: 'One copy of a backup in one destination.' });

/** Remarks about a backup beside its data. Texts of older backups have no code; they are notes. */
export const warningCodes = [
  'AUTH_TENANTS_LEFT_OUT',
  'BECAME_FULL',
  'COLLECTION_NOT_FOUND',
  'COPY_FAILED',
  'FOREIGN_DATABASE',
  'PASSWORD_HASHES_REDACTED',
  'SNAPSHOT_SPREAD',
  'NOTE',
] as const;
export type WarningCode = (typeof warningCodes)[number];

const warning = z
  .object({ code: z.enum(warningCodes), message: text({ max: 2000 }) })
  .meta({ id: 'BackupWarning', description: 'A note about a backup that is complete nevertheless.' });

const verificationError = z
  .object({
    code: z.enum(jobErrorCodes as [JobErrorCode, ...JobErrorCode[]]),
    message: text({ max: 2000 }),
    object: text({ max: 1024 }).nullable().describe('The stored object that is damaged or missing, where one is.'),
  })
  .meta({ id: 'VerificationError', description: 'One fault that a verification has found.' });

const verification = z
  .object({
    status: z.enum(['running', 'passed', 'failed']),
    segments: count().describe('Segments that were read and checked.'),
    documents: count().describe('Documents that were read and checked.'),
    errors: z.array(verificationError).max(100),
  })
  .meta({ id: 'Verification', description: 'What reading the whole backup again has shown.' });

/**
 * The key was missing, or the storage was unreachable or refused access. This says nothing about the data that could
 * not be read.
 */
export const unreadCodes: readonly string[] = [
  'DECRYPTION_ERROR',
  'STORAGE_UNAVAILABLE',
  'STORAGE_PERMISSION_DENIED',
  'STORAGE_CREDENTIALS_MISSING',
];

/** Whether a verification failed only because it could not read the backup, which proves nothing about it. */
export function couldNotRead(result: z.infer<typeof verification> | null): boolean {
  if (result?.status !== 'failed' || result.errors.length === 0) return false;
  return result.errors.every(({ code }) => unreadCodes.includes(code));
}

const safetyDocuments = z
  .object({
    count: count(),
    paths: z
      .array(firestoreName({ max: 6144 }))
      .max(1000)
      .describe('The first of them.'),
  })
  .meta({ id: 'BackupDocuments', description: 'The single documents a safety backup was made of.' });

const backupScope = z
  .object({
    collections: z.array(firestoreName({ max: 6144 })).max(1000),
    excludeCollections: z.array(firestoreName({ max: 6144 })).max(1000),
    includeSubcollections: z.boolean(),
    documents: safetyDocuments.nullable().describe('Set when exactly these documents were saved and nothing else.'),
  })
  .meta({ id: 'BackupScope', description: 'What the backup covers, as it really is.' });

export const importSources = ['holdfast', 'firestore-export', 'json', 'ndjson'] as const;

export const anomalyReasons = ['documents_shrank', 'collection_shrank', 'verification_failed', 'drill_failed'] as const;

const measured = z
  .object({
    backupId: identifier('bkp'),
    documentCount: count(),
    collection: firestoreName({ max: 6144 }).nullable().describe('The collection that shrank; null: all documents.'),
  })
  .meta({ id: 'AnomalyMeasure', description: 'How many documents there were.' });

export const anomaly = z
  .object({
    reason: z.enum(anomalyReasons),
    before: measured.nullable().describe('Null for a failed verification or drill.'),
    after: measured.nullable(),
  })
  .meta({ id: 'BackupAnomaly', description: 'Why a backup is suspicious.' });

export const backup = z
  .object({
    id: identifier('bkp'),
    projectId: identifier('prj'),
    type: z
      .enum(backupTypes)
      .describe('An incremental one without a completed parent becomes full, and a warning says so.'),
    status: z.enum(jobStatuses),
    trigger: z.enum(backupTriggers),
    scheduleId: identifier('sch').nullable(),
    importedFrom: z
      .enum(importSources)
      .nullable()
      .describe('The kind of file it was made of; null for a backup of the database itself.'),
    parentId: identifier('bkp').nullable().describe('The backup an increment builds on.'),
    collections: z.array(firestoreName({ max: 6144 })).max(1000),
    excludeCollections: z.array(firestoreName({ max: 6144 })).max(1000),
    includeSubcollections: z.boolean(),
    includeAuthUsers: z.boolean(),
    scope: backupScope,
    snapshotTime: timestamp()
      .nullable()
      .describe(
        'All documents are read as of this instant; null until it is fixed, or when one instant could not be held.',
      ),
    snapshots: z
      .array(snapshotShare)
      .max(1000)
      .describe('Which part was read at which time; a single entry for a consistent backup.'),
    progress,
    documentCount: count().nullable(),
    changeCount: count()
      .nullable()
      .describe(
        'Documents that an increment contains as written or deleted; null for other types, and if not counted.',
      ),
    size: bytes().nullable().describe('Bytes of the documents.'),
    sizeFormatted: text({ max: 30 }).nullable(),
    compressedSize: bytes().nullable().describe('Bytes in the storage destination.'),
    sha256: sha256().nullable().describe('Hash of the manifest, which holds the hash of every segment.'),
    readsUsed: count().describe('Document reads spent at the source.'),
    duration: milliseconds().nullable().describe('Milliseconds.'),
    durationFormatted: text({ max: 30 }).nullable(),
    storageDestination: storageDestinationSummary.nullable(),
    copies: z.array(copy).max(20),
    legalHold: z.boolean(),
    verifiedAt: timestamp().nullable(),
    verification: verification.nullable(),
    warnings: z.array(warning).max(100),
    anomaly: anomaly.nullable().describe('Set when the backup is suspicious.'),
    error: jobError.nullable(),
    createdAt: timestamp(),
    startedAt: timestamp().nullable(),
    completedAt: timestamp().nullable(),
    expiresAt: timestamp().nullable().describe('When retention may remove it.'),
  })
  .meta({ id: 'Backup', description: 'One backup of one project.' });
export type Backup = z.infer<typeof backup>;

export const backupDryRun = z
  .object({
    dryRun: z.literal(true),
    collections: z
      .array(
        z.object({
          path: firestoreName({ max: 6144 }).describe('With `*` in place of document ids.'),
          documentCount: count(),
          estimatedBytes: bytes(),
          sampled: z.boolean().describe('Only some documents were read: the count covers only a part.'),
        }),
      )
      .max(10_000)
      .describe('Every collection it would contain, each without those below it.'),
    documentCount: count().describe('Exact.'),
    estimatedBytes: bytes(),
    estimatedReads: count(),
    estimatedCost: money(),
    currency,
    estimatedDurationSeconds: seconds(),
  })
  .meta({ id: 'BackupDryRun', description: 'What the backup would take; nothing has changed.' });

export const backupEvent = z
  .object({ id: identifier('bkp'), status: z.enum(jobStatuses), progress, error: jobError.nullable() })
  .meta({ id: 'BackupEvent', description: 'The data of one server-sent event. The stream ends with the job.' });

const diffEntry = z
  .object({ path: firestoreName({ max: 6144 }), updateTime: firestoreTime() })
  .meta({ id: 'DiffEntry', description: 'A document that is on one side only.' });

const changedEntry = z
  .object({
    path: firestoreName({ max: 6144 }),
    fields: z
      .array(
        z.object({
          field: firestoreName({ max: 6144 }),
          change: z.enum(['added', 'removed', 'changed']),
          before: firestoreValue.nullable(),
          after: firestoreValue.nullable(),
        }),
      )
      .max(20_000)
      .describe('If very much differs, or below very long names, a map is shown as a whole.'),
  })
  .meta({ id: 'ChangedDocument', description: 'A document that is on both sides and differs, field by field.' });

export const backupDiff = z
  .object({
    against: text({ max: 64 }),
    added: z.array(diffEntry).max(200).describe('Only in what the backup is compared with.'),
    removed: z.array(diffEntry).max(200).describe('Only in the backup.'),
    changed: z.array(changedEntry).max(200),
    compared: count().describe(
      'How many documents of the backup this page has compared, those that are equal among them.',
    ),
  })
  .meta({ id: 'BackupDiff', description: 'One page of what changed from this backup to the other side.' });

const destinations = {
  storageDestinationId: reference().optional().describe("Absent: the organization's default."),
  storageDestinationIds: z
    .array(reference())
    .min(1)
    .max(20)
    .optional()
    .describe('The source is read once and written to each.'),
};

export const createBackupRequest = z
  .strictObject({
    projectId: reference(),
    type: z.enum(backupTypes).default('full'),
    collections: collectionPaths().default(['*']),
    excludeCollections: leftOutPaths().default([]).describe('Left out of `*`.'),
    includeSubcollections: z.boolean().default(true),
    includeAuthUsers: z.boolean().optional().describe("Absent: the project's setting."),
    ...destinations,
    retention: integer({ min: 1, max: 36_500 })
      .optional()
      .describe('Days after which retention may remove the backup; absent: it stays until it is deleted.'),
    dryRun: z.boolean().default(false).describe('Returns what the backup would take and changes nothing.'),
  })
  .refine((value) => !value.storageDestinationId || !value.storageDestinationIds, {
    error: 'give either storageDestinationId or storageDestinationIds',
    path: ['storageDestinationIds'],
  })
  .refine((value) => value.excludeCollections.length === 0 || value.collections[0] === '*', {
    error: 'can only be left out of *',
    path: ['excludeCollections'],
  });

export const importBackupRequest = z.strictObject({
  projectId: reference(),
  storageDestinationId: reference(),
  path: text({ min: 1, max: 1024 }).describe('The path of the file or folder, below the prefix of the destination.'),
  metadata: z.strictObject({
    createdAt: instant()
      .optional()
      .describe(
        'When the data was current; not in the future. A backup of Holdfast contains this time itself; then that is used.',
      ),
    type: z.enum(['full', 'incremental']).default('full'),
    source: z
      .enum(importSources)
      .describe(
        '`holdfast`: a manifest of this service; `firestore-export`: a folder of a managed export; `json`: the single file of version 1.x; `ndjson`: an export of this service, one document a line.',
      ),
  }),
});

export const listBackupsQuery = pageQuery.extend({
  projectId: reference().optional(),
  status: z.enum(jobStatuses).optional(),
  type: z.enum(backupTypes).optional(),
  trigger: z.enum(backupTriggers).optional(),
  scheduleId: reference().optional(),
  storageDestinationId: reference()
    .optional()
    .describe(
      'Only backups in this destination. Backups that are not completed count if they are or were to be written there.',
    ),
  from: rangeStart().optional().describe('At this time or later; a plain date begins at midnight UTC.'),
  to: rangeEnd().optional().describe('Before this time; a plain date includes its whole day.'),
});

export const listBackupDocumentsQuery = pageQuery.extend({
  collection: collectionPath()
    .optional()
    .describe('Absent: every document of the backup, in the order of their names.'),
  prefix: firestoreName({ min: 1, max: 1500 }).optional().describe('A prefix of the document id.'),
  search: firestoreName({ min: 1, max: 200 })
    .optional()
    .describe('Only documents with this text in their id or in any string value; case is ignored.'),
  from: documentPath()
    .optional()
    .describe(
      'The first page begins with this document, or with the next one if it does not exist. A search always begins at the start.',
    ),
});

/** For callers that show progress and need short pages. */
export const diffSeconds = () =>
  queryNumber({ min: 1, max: 20, error: 'must be a whole number from 1 to 20' })
    .default(20)
    .meta({
      description: 'Time limit for one page. The page may then be empty; continue with `nextCursor`.',
      documentedAs: { type: 'integer', format: 'int32', minimum: 1, maximum: 20, default: 20 },
    });

/** Beside the page: a search has a time limit, and a page without a hit can still have a cursor. */
export const documentsScanned = z.object({
  scanned: count().optional().describe('For a search: how many documents this page has read.'),
});

export const diffBackupQuery = pageQuery.extend({
  against: text({ min: 1, max: 256 }).default('live').describe('`live`, or the id of another backup of the project.'),
  collection: collectionPath().optional(),
  seconds: diffSeconds(),
});

export const exportBackupQuery = z.object({
  format: z.enum(['ndjson']).default('ndjson'),
  collection: collectionPath().optional(),
});
