import { z } from 'zod';
import { backupTypes } from './backups.ts';
import { collectionPaths, documentPath } from './firestore.ts';
import { jobError, jobStatuses, progress, seconds } from './jobs.ts';
import {
  bytes,
  count,
  firestoreName,
  firestoreTime,
  flag,
  identifier,
  instant,
  milliseconds,
  pageQuery,
  rangeEnd,
  rangeStart,
  reference,
  sha256,
  text,
  timestamp,
} from './primitives.ts';

export const mergeModes = ['overwrite', 'skip_existing', 'merge'] as const;

/** In this order; none is skipped before Completed. */
export const restorePhases = [
  'Initializing',
  'Downloading',
  'Decrypting',
  'Decompressing',
  'Validating',
  'Restoring',
  'Finalizing',
  'Completed',
] as const;
export type RestorePhase = (typeof restorePhases)[number];

const documentFailure = z
  .object({ path: firestoreName({ max: 6144 }), code: text({ max: 100 }), message: text({ max: 2000 }) })
  .meta({ id: 'DocumentFailure', description: 'A document that could not be written.' });

const restorePreview = z
  .object({
    create: count(),
    replace: count(),
    merge: count(),
    skip: count(),
    delete: count(),
    irreversible: count().describe('What an undo could not bring back, such as password hashes that cannot be read.'),
  })
  .meta({
    id: 'RestorePreview',
    description: 'How many documents a real run would create, replace, merge, skip and delete.',
  });

const restoredItem = z
  .object({
    backupId: identifier('bkp').nullable(),
    pointInTime: timestamp().nullable(),
    path: firestoreName({ max: 6144 }),
  })
  .meta({ id: 'RestoreItem', description: 'One document and the backup or the moment it is taken from.' });

export const restore = z
  .object({
    id: identifier('rst'),
    restoreJobId: identifier('rst').describe('The same as `id`.'),
    backupId: identifier('bkp').nullable().describe('Null for a restore to a point in time.'),
    pointInTime: timestamp().nullable(),
    projectId: identifier('prj').describe('The project the data comes from.'),
    targetProjectId: identifier('prj'),
    status: z.enum(jobStatuses),
    displayStatus: z.enum(['Success', 'Failed', 'In Progress']),
    phase: z.enum(restorePhases),
    progress,
    mergeMode: z.enum(mergeModes),
    dryRun: z.boolean(),
    collections: z
      .array(firestoreName({ max: 6144 }))
      .max(1000)
      .nullable()
      .describe('Null: everything in the backup.'),
    documentIds: z
      .array(firestoreName({ max: 6144 }))
      .max(10_000)
      .nullable(),
    items: z.array(restoredItem).max(1000).nullable().describe('The basket, if the restore is one.'),
    includeAuthUsers: z.boolean(),
    includeSubcollections: z.boolean().describe('For single documents: whether the documents below them are included.'),
    rewriteReferences: z.boolean(),
    deleteExtra: z.boolean(),
    startedBy: text({ max: 320 }).nullable().describe('Who started it; null if not recorded.'),
    stoppedBy: text({ max: 320 }).nullable().describe('Who stopped it by hand.'),
    safetyBackupId: identifier('bkp').nullable().describe('What was overwritten or deleted, as it was before.'),
    undoOf: identifier('rst').nullable().describe('The restore that this one undoes.'),
    undoneBy: identifier('rst').nullable().describe('The restore that has undone this one.'),
    conflicts: count().describe(
      'Documents that somebody has changed since, and that were left as they are. For the dry run of an undo: those that would be left.',
    ),
    conflictSample: z
      .array(firestoreName({ max: 6144 }))
      .max(100)
      .describe('Paths of some of them.'),
    documentsRestored: count(),
    documentsDeleted: count().describe('Deleted by `deleteExtra`, or by the undo of a restore that created them.'),
    collectionsRestored: count().describe(
      'Each writer counts up to 10,000; further collections are restored but not counted.',
    ),
    preview: restorePreview.nullable().describe('Set by a dry run.'),
    irreversibleReasons: z
      .array(z.object({ reason: text({ max: 500 }), count: count() }))
      .max(20)
      .describe('What an undo could not bring back, and why. A dry run predicts it; a run reports it.'),
    errors: z
      .object({ count: count(), sample: z.array(documentFailure).max(100) })
      .describe('Failures of single documents.'),
    error: jobError.nullable(),
    duration: seconds().nullable().describe('Seconds.'),
    createdAt: timestamp(),
    startedAt: timestamp().nullable(),
    completedAt: timestamp().nullable(),
  })
  .meta({ id: 'Restore', description: 'One restore job.' });
export type Restore = z.infer<typeof restore>;

export const restoreEvent = z
  .object({
    id: identifier('rst'),
    status: z.enum(jobStatuses),
    phase: z.enum(restorePhases),
    progress,
    documentsRestored: count(),
    error: jobError.nullable(),
  })
  .meta({ id: 'RestoreEvent', description: 'The data of one server-sent event. The stream ends with the job.' });

const restoreOptions = z.strictObject({
  mergeMode: z
    .enum(mergeModes)
    .default('overwrite')
    .describe(
      '`overwrite` replaces existing documents, `skip_existing` leaves them, `merge` merges maps deeply and replaces arrays and scalars.',
    ),
  collections: collectionPaths().optional(),
  dryRun: z.boolean().default(false).describe('Counts what would be done and writes nothing.'),
  includeAuthUsers: z
    .boolean()
    .optional()
    .describe(
      'Absent: restored if the backup contains them, except when collections or documents are named, or when the target is another database of the same Google project, which has the same accounts. `true` is refused if the backup contains none.',
    ),
  includeSubcollections: z
    .boolean()
    .optional()
    .describe(
      'Absent: what the backup has. For single documents (`documentIds`), the documents below them are restored only with `true`.',
    ),
  safetyBackup: z
    .boolean()
    .default(true)
    .describe('First save what will be overwritten, so that the restore can be undone.'),
  rewriteReferences: z
    .boolean()
    .default(true)
    .describe('Across projects, references into the source database point into the target.'),
  deleteExtra: z
    .boolean()
    .default(false)
    .describe('Delete documents that the backup does not contain, within the chosen collections.'),
});

const requestedItem = z
  .strictObject({
    backupId: reference().optional(),
    pointInTime: instant().optional(),
    path: documentPath().describe('Such as `users/ada`.'),
  })
  .refine((value) => (value.backupId === undefined) !== (value.pointInTime === undefined), {
    error: 'give either backupId or pointInTime',
    path: ['backupId'],
  });

const requestFields = z.strictObject({
  backupId: reference().optional(),
  projectId: reference().optional().describe('With `pointInTime`: the project to restore.'),
  pointInTime: instant().optional(),
  targetProjectId: reference().optional().describe('Absent: the source project.'),
  collections: collectionPaths().optional(),
  documentIds: z
    .array(firestoreName({ min: 1, max: 6144 }))
    .min(1)
    .max(10_000)
    .optional()
    .describe('Paths such as `users/ada`, or bare ids when exactly one collection is named.'),
  items: z
    .array(requestedItem)
    .min(1)
    .max(1000)
    .optional()
    .describe(
      'A basket: documents from several backups and moments of one project in one restore. With `pointInTime` in an entry, `projectId` names the project.',
    ),
  options: restoreOptions.prefault({}),
});

function sameEntries(a: readonly string[], b: readonly string[]): boolean {
  return new Set(a).size === new Set(b).size && a.every((entry) => b.includes(entry));
}

const documentsAlone = 'each of the items is one document: name what lies below it too, or restore with documentIds';

/** A basket names all its contents itself. */
function checkBasket(value: z.infer<typeof requestFields>, fault: (field: string, message: string) => void): void {
  for (const field of ['backupId', 'pointInTime', 'collections', 'documentIds'] as const)
    if (value[field] !== undefined) fault(field, 'is named by each of the items');
  if (value.options.collections) fault('options.collections', 'is named by each of the items');
  if (value.options.deleteExtra) fault('options.deleteExtra', 'single documents are restored: nothing else is deleted');
  if (value.options.includeSubcollections) fault('options.includeSubcollections', documentsAlone);
  if (value.projectId === undefined && value.items?.some(({ pointInTime }) => pointInTime !== undefined))
    fault('projectId', 'is required with pointInTime');
}

export const startRestoreRequest = requestFields.superRefine((value, context) => {
  const fault = (field: string, message: string) => context.addIssue({ code: 'custom', path: [field], message });
  const { backupId, projectId, pointInTime, collections, documentIds, options, items } = value;
  if (items) return checkBasket(value, fault);
  if (backupId === undefined && pointInTime === undefined)
    fault('backupId', 'is required, unless projectId and pointInTime are given');
  if (backupId !== undefined && pointInTime !== undefined) fault('pointInTime', 'give either backupId or pointInTime');
  if (pointInTime !== undefined && projectId === undefined) fault('projectId', 'is required with pointInTime');
  if (pointInTime === undefined && projectId !== undefined)
    fault('projectId', 'is used with pointInTime only; the backup knows its project');
  if (collections && options.collections && !sameEntries(collections, options.collections)) {
    fault('collections', 'must equal options.collections when both are given');
  }
  const named = collections ?? options.collections;
  const oneCollection = named?.length === 1 && named[0] !== '*';
  if (documentIds?.some((id) => !id.includes('/')) && !oneCollection) {
    fault('documentIds', 'bare ids need exactly one collection; otherwise give paths such as users/ada');
  }
});

export const undoRestoreRequest = z.strictObject({
  force: z.boolean().default(false).describe('Also puts back documents that somebody has changed since.'),
  dryRun: z.boolean().default(false).describe('Counts what would be done and writes nothing.'),
});

export const listRestoresQuery = pageQuery.extend({
  status: z.enum(jobStatuses).optional(),
  backupId: reference().optional(),
  projectId: reference().optional(),
  targetProjectId: reference().optional(),
  dryRun: flag().optional().describe('`true`: dry runs alone. `false`: without them.'),
  from: rangeStart().optional().describe('At this time or later; a plain date begins at midnight UTC.'),
  to: rangeEnd().optional().describe('Before this time; a plain date includes its whole day.'),
});

export const listAllDrillsQuery = pageQuery.extend({
  projectId: reference().optional(),
  backupId: reference().optional(),
});

const drillDifferences = ['missing', 'different', 'unexpected'] as const;

const drillReport = z
  .object({
    backup: z
      .object({
        type: z.enum(backupTypes),
        snapshotTime: firestoreTime(),
        database: text({ max: 500 }).describe('Where the documents come from.'),
        scope: z
          .enum(['everything', 'collections', 'documents'])
          .describe('How much of the database the backup holds.'),
        chain: z
          .array(text({ max: 64 }))
          .min(1)
          .max(1000)
          .describe('The backups that were read, the base first.'),
        sha256: sha256().describe('Hash of the manifest that was read.'),
      })
      .describe('What was restored.'),
    target: z
      .object({
        kind: z.enum(['scratch', 'project']).describe('`scratch`: a database that existed for the drill alone.'),
        database: text({ max: 500 }),
        foundEmptyAt: timestamp().nullable().describe('When a given target was found empty, before the first write.'),
        contents: z
          .enum(['discarded', 'left'])
          .describe('The documents of the drill: `left` in a given target, where a drill deletes nothing.'),
      })
      .describe('Where it was restored.'),
    engine: z
      .object({ name: text({ max: 50 }), version: text({ max: 50 }) })
      .describe('The program that ran the drill.'),
    comparison: z
      .literal('values')
      .describe(
        'How documents were compared: field by field, with values and types, whatever the order of map fields.',
      ),
    documentsExpected: count(),
    documentsRestored: count(),
    documentsMatched: count().describe('Equal in every value.'),
    bytes: bytes().describe('Of the documents that were compared.'),
    authUsers: z
      .object({ expected: count(), read: count() })
      .nullable()
      .describe('Accounts are read and counted, but not written. Null: the backup contains none.'),
    differences: z.object({
      count: count(),
      sample: z
        .array(z.object({ path: firestoreName({ max: 6144 }), kind: z.enum(drillDifferences) }))
        .max(100)
        .describe('Some of them, in the order of paths.'),
    }),
    mismatches: z
      .array(firestoreName({ max: 6144 }))
      .max(100)
      .describe('Only the paths of the sample.'),
    sha256Expected: sha256().describe('Over all documents of the backup in the order of their paths.'),
    sha256Restored: sha256().describe('The same over what was read back.'),
    startedAt: timestamp(),
    restoreDurationMs: milliseconds().describe('The measured time to restore.'),
    compareDurationMs: milliseconds().describe('The measured time to read back and compare.'),
  })
  .meta({ id: 'DrillReport', description: 'What a trial restore has shown.' });

export const drill = z
  .object({
    id: identifier('drl'),
    backupId: identifier('bkp'),
    projectId: identifier('prj'),
    targetProjectId: identifier('prj').nullable().describe('Null: a scratch database that exists for the drill alone.'),
    status: z.enum(jobStatuses),
    passed: z.boolean().nullable().describe('Whether every document came back equal; null while it runs.'),
    progress,
    report: drillReport.nullable(),
    signedReport: text({ max: 400_000 })
      .nullable()
      .describe('The report as a compact JWS, verifiable with the published keys.'),
    error: jobError.nullable(),
    createdAt: timestamp(),
    completedAt: timestamp().nullable(),
  })
  .meta({ id: 'Drill', description: 'A trial restore that proves a backup.' });

export const startDrillRequest = z.strictObject({
  targetProjectId: reference()
    .optional()
    .describe(
      'A project with an empty database. The drill creates documents there and leaves them; it overwrites and deletes nothing. Absent: a scratch database.',
    ),
});
