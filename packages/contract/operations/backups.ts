import { z } from 'zod';
import { member } from '../access.ts';
import { accepted, api, done, list, ok, operation } from '../operation.ts';
import {
  backup,
  backupDryRun,
  createBackupRequest,
  importBackupRequest,
  listBackupsQuery,
} from '../schemas/backups.ts';
import { pageQuery, pathId } from '../schemas/primitives.ts';
import { drill, startDrillRequest } from '../schemas/restores.ts';
import { readErrors } from './read-errors.ts';

const tag = 'Backups';
const params = z.object({ backupId: pathId() });
const reads = member('viewer', 'backups:read');
const creates = member('member', 'backups:create');
const restores = member('member', 'backups:restore');
const holds = member('admin', 'backups:write');

export const listBackups = operation({
  id: 'listBackups',
  method: 'GET',
  path: api('/backups'),
  tag,
  summary: 'List backups',
  description: 'Newest first.',
  access: reads,
  query: listBackupsQuery,
  success: list(backup),
  errors: [],
});

export const createBackup = operation({
  id: 'createBackup',
  method: 'POST',
  path: api('/backups'),
  tag,
  summary: 'Start a backup',
  description:
    'Answers at once. Errors of the source or the storage appear later in the record. Only one backup runs per project; the next one waits. A dry run reads the source (or what a synthetic backup would be merged from) at once, and answers 200 with what the backup would take.',
  access: creates,
  body: createBackupRequest,
  success: accepted(backup),
  alternatives: [ok(backupDryRun)],
  location: true,
  errors: [
    'PROJECT_NOT_FOUND',
    'STORAGE_DESTINATION_NOT_FOUND',
    'INVALID_STATE',
    'SOURCE_AUTH_ERROR',
    'SOURCE_UNAVAILABLE',
    'SOURCE_QUOTA_EXCEEDED',
    'BACKUP_NOT_FOUND',
    ...readErrors,
  ],
});

export const importBackup = operation({
  id: 'importBackup',
  method: 'POST',
  path: api('/backups/import'),
  tag,
  summary: 'Register an existing backup file',
  description:
    'The file is checked before it is registered; a broken one registers nothing. A backup that is registered already is a CONFLICT.',
  access: creates,
  body: importBackupRequest,
  success: accepted(backup),
  location: true,
  errors: ['PROJECT_NOT_FOUND', 'STORAGE_DESTINATION_NOT_FOUND', ...readErrors],
});

export const getBackup = operation({
  id: 'getBackup',
  method: 'GET',
  path: api('/backups/{backupId}'),
  tag,
  summary: 'Show a backup',
  description: 'The whole record, with progress, copies, warnings and the last verification.',
  access: reads,
  params,
  success: ok(backup),
  etag: true,
  errors: ['BACKUP_NOT_FOUND'],
});

export const deleteBackup = operation({
  id: 'deleteBackup',
  method: 'DELETE',
  path: api('/backups/{backupId}'),
  tag,
  summary: 'Delete a backup',
  description:
    'RESOURCE_IN_USE while increments depend on it, while something reads it (such as a restore, an export or a migration), or while captured changes that are still kept can only be restored with it. INVALID_STATE under legal hold or object lock. Increments that were merged into a synthetic backup of the same moment do not prevent the deletion: they are deleted with it. Those in the middle of a merged chain do, because their moments would be lost.',
  access: member('admin', 'backups:delete'),
  params,
  success: done,
  etag: true,
  errors: ['BACKUP_NOT_FOUND', 'RESOURCE_IN_USE', 'INVALID_STATE'],
});

export const cancelBackup = operation({
  id: 'cancelBackup',
  method: 'POST',
  path: api('/backups/{backupId}/cancel'),
  tag,
  summary: 'Cancel a backup',
  description: 'Stops reading within seconds and removes what was written. INVALID_STATE if the backup has ended.',
  access: creates,
  params,
  success: ok(backup),
  errors: ['BACKUP_NOT_FOUND', 'INVALID_STATE'],
});

export const verifyBackup = operation({
  id: 'verifyBackup',
  method: 'POST',
  path: api('/backups/{backupId}/verify'),
  tag,
  summary: 'Verify a backup',
  description:
    'Reads and decrypts every segment and compares hashes and counts. The result is in `verification`. Only a completed backup can be verified (INVALID_STATE).',
  access: creates,
  params,
  success: accepted(backup),
  location: true,
  errors: ['BACKUP_NOT_FOUND', 'INVALID_STATE'],
});

export const holdBackup = operation({
  id: 'holdBackup',
  method: 'POST',
  path: api('/backups/{backupId}/hold'),
  tag,
  summary: 'Put a backup under legal hold',
  description:
    'Until the hold is lifted, neither people nor retention can delete the backup, its project together with its backups, or its organization.',
  access: holds,
  params,
  success: ok(backup),
  errors: ['BACKUP_NOT_FOUND'],
});

export const releaseBackup = operation({
  id: 'releaseBackup',
  method: 'DELETE',
  path: api('/backups/{backupId}/hold'),
  tag,
  summary: 'Lift the legal hold of a backup',
  description: 'Retention applies again.',
  access: holds,
  params,
  success: ok(backup),
  errors: ['BACKUP_NOT_FOUND'],
  etag: true,
});

export const startDrill = operation({
  id: 'startDrill',
  method: 'POST',
  path: api('/backups/{backupId}/drill'),
  tag,
  summary: 'Drill a restore',
  description:
    'Restores into a scratch database, or into a given project with an empty database. Compares every value of every document, measures the time and writes a signed report. A given target that is not empty is refused. Documents written there stay; a drill never overwrites or deletes anything.',
  access: restores,
  params,
  body: startDrillRequest,
  bodyOptional: true,
  success: accepted(drill),
  location: true,
  errors: ['BACKUP_NOT_FOUND', 'PROJECT_NOT_FOUND', 'INVALID_STATE'],
});

export const listDrills = operation({
  id: 'listDrills',
  method: 'GET',
  path: api('/backups/{backupId}/drills'),
  tag,
  summary: 'List the drills of a backup',
  description: 'Newest first, each with its report.',
  access: reads,
  params,
  query: pageQuery,
  success: list(drill),
  errors: ['BACKUP_NOT_FOUND'],
});
