import { z } from 'zod';
import { databaseReference, projectReference, serviceAccountKey } from './firestore.ts';
import { currency, jobError, jobStatuses, money, seconds } from './jobs.ts';
import {
  bytes,
  count,
  email,
  flag,
  identifier,
  integer,
  link,
  name,
  reference,
  text,
  timestamp,
} from './primitives.ts';

export const connectionTypes = ['oauth', 'service_account', 'emulator'] as const;

const connection = z
  .object({
    type: z.enum(connectionTypes),
    status: z.enum(['connected', 'unauthorized', 'error']),
    email: email().nullable().describe('Whose consent or which service account is used.'),
    host: text({ max: 255 }).optional().describe('Address of the emulator.'),
    lastCheckedAt: timestamp().nullable(),
    error: jobError.nullable(),
  })
  .meta({ id: 'ProjectConnection', description: 'How the service reaches the database, and whether it can.' });

const captureGap = z
  .object({
    from: timestamp(),
    to: timestamp(),
    reason: text({ max: 500 }),
    reachableByMinute: z
      .boolean()
      .optional()
      .describe("Whether the source's own recovery reaches the whole minutes in it."),
  })
  .meta({ id: 'CaptureGap', description: 'A time without capture: no instant in it can be reached.' });

export const pitrStatuses = ['starting', 'running', 'catching_up', 'stopped', 'error'] as const;

export const projectPitr = z
  .object({
    enabled: z.boolean(),
    status: z.enum(pitrStatuses),
    coveredFrom: timestamp().nullable(),
    coveredTo: timestamp().nullable(),
    gaps: z.array(captureGap).max(1000),
  })
  .meta({ id: 'ProjectPitr', description: 'Point-in-time recovery of a project.' });

const settingFields = {
  backupTimeoutMinutes: integer({ min: 1, max: 10_080 }).describe(
    'A backup that takes longer fails with BACKUP_TIMEOUT. If never set: 30, plus one minute for every 20,000 documents.',
  ),
  readRateLimit: integer({ min: 1, max: 1_000_000 })
    .nullable()
    .describe('Documents read per second at most; null: no limit.'),
  writeRampUp: z.boolean().describe('Restores start at 500 writes per second and increase by half every five minutes.'),
  includeAuthUsers: z.boolean().describe('Whether backups contain the Auth users by default.'),
  maxReadsPerBackup: count()
    .nullable()
    .describe('A backup that would read more stops with READ_BUDGET_EXCEEDED; null: no budget.'),
};

const projectSettings = z
  .object(settingFields)
  .meta({ id: 'ProjectSettings', description: 'How a project is backed up and restored.' });

export const retentionFreeze = z
  .object({ since: timestamp(), backupId: identifier('bkp'), reason: text({ max: 500 }) })
  .meta({ id: 'RetentionFreeze', description: 'Retention removes nothing until somebody unfreezes it.' });

export const project = z
  .object({
    id: identifier('prj'),
    name: text({ max: 100 }),
    sourceProjectId: projectReference().describe('The Google Cloud project.'),
    databaseId: databaseReference(),
    connection,
    pitr: projectPitr,
    settings: projectSettings,
    statistics: z.object({
      backupCount: count(),
      storageUsed: bytes(),
      documentCount: count().nullable().describe('Documents in the completed backup with the newest data.'),
      lastBackupAt: timestamp()
        .nullable()
        .describe(
          'When the good backup with the newest data was completed; a failed one after it, or a merge of older ones, changes nothing here.',
        ),
      newestSnapshotTime: timestamp()
        .nullable()
        .describe('You can get back data as of this time: the newest data of a good backup.'),
      lastBackupStatus: z.enum(jobStatuses).nullable().describe('The status of the newest attempt.'),
    }),
    retentionFrozen: retentionFreeze.nullable().describe('Set while nothing is removed after an anomaly.'),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  })
  .meta({ id: 'Project', description: 'A Firestore database that is backed up.' });

export const availableProject = z
  .object({
    sourceProjectId: projectReference(),
    name: text({ max: 200 }),
    databases: z
      .array(
        z.object({
          databaseId: databaseReference(),
          location: text({ max: 100 }).nullable(),
          connected: z.boolean().describe('Whether the organization has connected it already.'),
        }),
      )
      .max(1000),
  })
  .meta({ id: 'AvailableProject', description: "A Google project the caller's consent can see." });

export const reconnection = z
  .object({
    authorizationUrl: link()
      .nullable()
      .describe('Send the person there to consent again; null when nothing is left to do.'),
    connection,
  })
  .meta({ id: 'Reconnection', description: 'The result for the connection.' });

const estimate = z
  .object({
    reads: count(),
    writes: count(),
    deletes: count(),
    bytes: bytes(),
    cost: money().describe('At list prices.'),
    durationSeconds: seconds(),
  })
  .meta({ id: 'Estimate', description: 'What one job would take.' });

export const costEstimate = z
  .object({ documentCount: count(), currency, full: estimate, incremental: estimate, restore: estimate })
  .meta({ id: 'CostEstimate', description: 'What a full backup, an incremental one and a restore would take.' });

const newConnection = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('oauth') }).describe("The caller's own consent at Google."),
  z.strictObject({ type: z.literal('service_account'), key: serviceAccountKey() }),
  z.strictObject({
    type: z.literal('emulator'),
    host: z
      .string()
      .min(1)
      .max(255)
      .regex(/^(?:sample|(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\]):[0-9]{1,5})$/, { error: 'must be host:port, or sample' })
      .describe('Address of the emulator, or `sample` for the sample database inside the service.'),
  }),
]);

const settingsChange = z.strictObject(settingFields).partial();

export const createProjectRequest = z.strictObject({
  name,
  sourceProjectId: projectReference(),
  databaseId: databaseReference().default('(default)'),
  connection: newConnection,
  settings: settingsChange.optional(),
});

export const updateProjectRequest = z
  .strictObject({
    name: name.optional(),
    settings: settingsChange.optional(),
    organizationId: reference()
      .optional()
      .describe('Moves the project there; needs admin or owner in both organizations.'),
  })
  .refine((value) => value.organizationId === undefined || (value.name === undefined && value.settings === undefined), {
    error: 'a move changes nothing else: give organizationId alone',
    path: ['organizationId'],
  });

export const reconnectProjectRequest = z.strictObject({
  key: serviceAccountKey().optional().describe('A new key for a project that is connected by service account.'),
});

export const deleteProjectQuery = z.object({
  deleteBackups: flag()
    .optional()
    .describe(
      'Also delete its backups. This needs the right to delete backups. Otherwise they stay until their retention ends.',
    ),
});
