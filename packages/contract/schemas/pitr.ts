import { z } from 'zod';
import { firestoreFields } from './firestore.ts';
import { seconds } from './jobs.ts';
import { count, firestoreName, firestoreTime, integer, pageQuery, reference, timestamp } from './primitives.ts';
import { projectPitr } from './projects.ts';

export const enablePitrRequest = z.strictObject({
  storageDestinationId: reference().optional(),
  retentionDays: integer({ min: 1, max: 365 }).default(7),
});

export const pitrWindow = projectPitr
  .extend({
    retentionDays: integer({ min: 1, max: 365 }).nullable(),
    lagSeconds: seconds().nullable().describe('How far capture is behind the database.'),
    changesPerHour: z.array(z.object({ hour: timestamp(), count: count() })).max(10_000),
  })
  .meta({ id: 'PitrWindow', description: 'Which instants of a project can be reached.' });

export const documentVersion = z
  .object({ time: firestoreTime(), kind: z.enum(['put', 'delete']), fields: firestoreFields.nullable() })
  .meta({ id: 'DocumentVersion', description: 'A captured version of a document.' });

export const documentHistoryQuery = pageQuery.extend({
  document: firestoreName({ min: 3, max: 6144 }).describe('A path such as `users/ada`.'),
});
