import { z } from 'zod';
import { anomaly, backupTypes } from './backups.ts';
import { seconds } from './jobs.ts';
import { bytes, count, identifier, text, timestamp } from './primitives.ts';
import { projectPitr, retentionFreeze } from './projects.ts';

/** The overview for people: is everything protected, what comes next, what does it cost. */

export const protectionStates = ['protected', 'at_risk', 'unprotected', 'manual'] as const;

export const protectionReasons = [
  'never_backed_up',
  'key_withdrawn',
  'damaged',
  'late',
  'very_late',
  'failing',
  'unauthorized',
  'source_error',
  'no_storage',
  'storage_error',
  'schedule_disabled',
  'no_schedule',
  'capture_stopped',
  'anomaly',
] as const;

const protection = z
  .object({
    state: z.enum(protectionStates).describe('`manual`: there is no schedule, so nothing is promised.'),
    reasons: z
      .array(z.object({ code: z.enum(protectionReasons), message: text({ max: 500 }) }))
      .max(20)
      .describe('Why not, the most severe first; empty when protected.'),
  })
  .meta({ id: 'Protection', description: 'Whether a project is protected, and why not.' });

const openAnomaly = anomaly
  .extend({ backupId: identifier('bkp'), at: timestamp() })
  .meta({ id: 'OpenAnomaly', description: 'A suspicious backup that nobody has reviewed yet.' });

const overviewProject = z
  .object({
    id: identifier('prj'),
    name: text({ max: 100 }),
    protection,
    newestBackup: z
      .object({
        id: identifier('bkp'),
        type: z.enum(backupTypes),
        snapshotTime: timestamp().describe(
          'You can get back data as of this time. For a backup without one consistent instant: its start.',
        ),
        completedAt: timestamp(),
        documentCount: count(),
        verifiedAt: timestamp().nullable(),
      })
      .nullable()
      .describe('The good backup with the newest data.'),
    schedule: z
      .object({
        id: identifier('sch'),
        name: text({ max: 100 }),
        intervalSeconds: seconds().describe('The time between two runs.'),
        nextRunAt: timestamp(),
      })
      .nullable()
      .describe('The enabled schedule that runs most often.'),
    pitr: projectPitr,
    lastDrill: z
      .object({
        id: identifier('drl'),
        backupId: identifier('bkp'),
        passed: z.boolean(),
        completedAt: timestamp(),
      })
      .nullable(),
    anomalies: z.array(openAnomaly).max(20),
    retentionFrozen: retentionFreeze.nullable(),
  })
  .meta({ id: 'OverviewProject', description: 'How a project is protected.' });

export const overview = z
  .object({
    projects: z.array(overviewProject).max(1000).describe('The most severe first.'),
    nextRuns: z
      .array(
        z.object({
          scheduleId: identifier('sch'),
          name: text({ max: 100 }),
          projectId: identifier('prj'),
          at: timestamp(),
          type: z.enum(['full', 'incremental']).describe('As the schedule is now.'),
        }),
      )
      .max(100),
    days: z
      .array(
        z.object({
          day: z.iso.date().max(10),
          storedBytes: bytes(),
          storedByDestination: z
            .array(z.object({ storageDestinationId: identifier('dst'), storedBytes: bytes() }))
            .max(10)
            .describe(
              'Where it was stored, the largest first; a destination may no longer exist. Empty when only the total is known.',
            ),
          readsUsed: count(),
        }),
      )
      .max(100)
      .describe('Stored bytes and reads by day in UTC, the newest last.'),
    readsByProject: z
      .array(z.object({ projectId: identifier('prj'), readsUsed: count() }))
      .max(10)
      .describe('Which projects were read most in these days, the highest first.'),
  })
  .meta({ id: 'Overview', description: 'The state of everything, at a glance.' });

export const changeKinds = [
  'organization',
  'member',
  'invitation',
  'service_account',
  'project',
  'storage_destination',
  'storage_task',
  'backup',
  'restore',
  'drill',
  'schedule',
  'pitr',
  'webhook',
  'delivery',
] as const;

export const organizationChange = z
  .object({
    kind: z.enum(changeKinds),
    id: text({ max: 64 }),
    change: z.enum(['created', 'updated', 'deleted']),
    projectId: identifier('prj').nullable().describe('The project it belongs to, where it belongs to one.'),
    at: timestamp(),
  })
  .meta({
    id: 'OrganizationChange',
    description: 'The data of one server-sent event: what changed; read the resource to see its new state.',
  });
