import { createHash } from 'node:crypto';
import type { Database, DatabaseEdition } from '../store/database.ts';
import { databaseRoot } from '../values/name.ts';
import { day, hour, type Micros, secondMicros } from '../values/timestamp.ts';

/** How FirestoreAdmin describes a database. */
export interface DatabaseDescription {
  readonly name: string;
  readonly uid: string;
  readonly createTime: Micros;
  readonly earliestVersionTime: Micros;
  readonly pointInTimeRecovery: boolean;
  readonly versionRetentionSeconds: number;
  readonly locationId: string;
  readonly edition: DatabaseEdition;
}

export function describeDatabase(database: Database): DatabaseDescription {
  const name = databaseRoot(database.name);
  const digest = createHash('sha256').update(name).digest('hex');
  return {
    name,
    uid: [
      digest.slice(0, 8),
      digest.slice(8, 12),
      digest.slice(12, 16),
      digest.slice(16, 20),
      digest.slice(20, 32),
    ].join('-'),
    createTime: database.createTime,
    earliestVersionTime: database.earliestVersionTime(),
    pointInTimeRecovery: database.pointInTimeRecovery,
    versionRetentionSeconds: (database.pointInTimeRecovery ? 7 * day : hour) / secondMicros,
    locationId: 'nam5',
    edition: database.edition,
  };
}
