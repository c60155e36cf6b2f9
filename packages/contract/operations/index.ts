import type { Operation } from '../operation.ts';
import * as audit from './audit.ts';
import * as auth from './auth.ts';
import * as backupContents from './backup-contents.ts';
import * as backups from './backups.ts';
import * as organizations from './organizations.ts';
import * as overview from './overview.ts';
import * as pitr from './pitr.ts';
import * as projects from './projects.ts';
import * as restores from './restores.ts';
import * as schedules from './schedules.ts';
import * as storage from './storage.ts';
import * as system from './system.ts';
import * as team from './team.ts';
import * as webhooks from './webhooks.ts';

/** Every operation by its id. A name exported from a resource's file is its id; a test checks that. */
export const operations = {
  ...auth,
  ...organizations,
  ...team,
  ...overview,
  ...projects,
  ...pitr,
  ...storage,
  ...backups,
  ...backupContents,
  ...restores,
  ...schedules,
  ...webhooks,
  ...audit,
  ...system,
} as const;

export type Operations = typeof operations;
export type OperationId = keyof Operations;

/** Every operation, planned ones included. */
export const allOperations: readonly Operation[] = Object.values(operations);

/** The operations that are served. */
export const servedOperations: readonly Operation[] = allOperations.filter(
  (operation) => operation.available !== false,
);

/** The operations of the API document. */
export const documentedOperations: readonly Operation[] = servedOperations.filter(
  (operation) => operation.documented !== false,
);
