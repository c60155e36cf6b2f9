import { z } from 'zod';
import { diffSeconds, exportBackupQuery, listBackupDocumentsQuery } from './backups.ts';
import { documentPath, firestoreFields } from './firestore.ts';
import { jobError, seconds } from './jobs.ts';
import {
  count,
  firestoreName,
  firestoreTime,
  identifier,
  instant,
  integer,
  pageQuery,
  reference,
  text,
  timestamp,
} from './primitives.ts';
import { projectPitr } from './projects.ts';

const retentionDays = () => integer({ min: 1, max: 35 });

export const enablePitrRequest = z.strictObject({
  storageDestinationId: reference().optional().describe("Absent: the organization's default."),
  retentionDays: retentionDays()
    .optional()
    .describe(
      'Absent: 7, or as before for a log that was kept. Fewer days than before delete older changes; this needs the right to delete backups.',
    ),
});

export const disablePitrRequest = z.strictObject({
  deleteLog: z
    .boolean()
    .default(false)
    .describe(
      'Also delete the captured changes. This needs the right to delete backups. Otherwise they stay until their retention ends.',
    ),
});

export const pitrWindow = projectPitr
  .extend({
    lagSeconds: seconds().nullable().describe('How far capture is behind the database.'),
    changesPerHour: z.array(z.object({ hour: timestamp(), count: count() })).max(1000),
    changesPerMinute: z
      .array(z.object({ minute: timestamp(), count: count() }))
      .max(1500)
      .describe('Of the day around the moment that `around` names; empty without it.'),
    collections: z.array(z.object({ id: firestoreName({ max: 1500 }), changes: count() })).max(1000),
    retentionDays: retentionDays().nullable(),
    storageDestinationId: identifier('dst').nullable(),
    lastReconciledAt: timestamp()
      .nullable()
      .describe('When the log was last compared with the database and found true.'),
    readsUsed: count(),
    error: jobError.nullable(),
  })
  .meta({ id: 'PitrWindow', description: 'Which instants of a project can be reached.' });

export const documentVersion = z
  .object({
    time: firestoreTime().describe('For a delete the latest it can have happened at.'),
    kind: z.enum(['put', 'delete']),
    fields: firestoreFields.nullable(),
  })
  .meta({ id: 'DocumentVersion', description: 'A captured version of a document.' });

export const pitrWindowQuery = z.object({
  around: timestamp().optional().describe('Returns changes per minute for twelve hours before and after this moment.'),
});

export const documentHistoryQuery = pageQuery.extend({
  document: documentPath().describe('A path such as `users/ada`.'),
});

export const knownVersion = z
  .object({
    at: firestoreTime().describe('Since when this version is known.'),
    source: z.enum(['backup', 'pitr', 'live']),
    backupId: identifier('bkp').nullable(),
    heldBy: identifier('bkp')
      .nullable()
      .describe('A backup that has this version, if this page found one; otherwise null, as for a deletion.'),
    change: z.enum(['created', 'changed', 'deleted']),
    updateTime: firestoreTime().nullable().describe('Null for a deleted document.'),
  })
  .meta({ id: 'KnownVersion', description: 'A version of a document, from a backup, from the log or as it is now.' });

export const versionsUnreadable = z.object({
  unreadable: z
    .array(
      z.object({
        backupId: identifier('bkp').nullable().describe('Null: the log of captured changes.'),
        code: text({ max: 100 }),
        message: text({ max: 2000 }),
      }),
    )
    .max(100)
    .optional()
    .describe('Backups that could not be read for this page: versions that only they have are missing.'),
});

const at = instant().describe('The moment to show.');

export const projectDocumentQuery = z.object({ at: at.optional() });

export const viewCollectionsQuery = pageQuery.extend({ at });
export const viewDocumentsQuery = listBackupDocumentsQuery.extend({ at });
export const exportPitrQuery = exportBackupQuery.extend({ at });
export const viewDiffQuery = pageQuery.extend({
  at,
  against: text({ min: 1, max: 256 }).default('live').describe('`live`, another moment, or the id of a backup.'),
  collection: firestoreName({ min: 1, max: 6144 }).optional(),
  seconds: diffSeconds(),
});
