import { z } from 'zod';
import { member } from '../access.ts';
import { accepted, api, list, ok, operation } from '../operation.ts';
import { pathId } from '../schemas/primitives.ts';
import {
  drill,
  listAllDrillsQuery,
  listRestoresQuery,
  restore,
  restoreEvent,
  startRestoreRequest,
  undoRestoreRequest,
} from '../schemas/restores.ts';

const tag = 'Restores';
const params = z.object({ restoreJobId: pathId() });
const reads = member('viewer', 'backups:read');
const runs = member('member', 'backups:restore');

export const startRestore = operation({
  id: 'startRestore',
  method: 'POST',
  path: api('/backups/restore'),
  tag,
  summary: 'Start a restore',
  description:
    'From a backup, or to a point in time of a project. What will be overwritten is saved first, unless `safetyBackup` is false. A second restore into the same target waits its turn. Errors that only reading shows, such as a collection that the backup does not contain or a storage that does not answer, are in `error` of the record.',
  access: runs,
  body: startRestoreRequest,
  success: accepted(restore),
  location: true,
  errors: [
    'BACKUP_NOT_FOUND',
    'PROJECT_NOT_FOUND',
    'INVALID_STATE',
    'POINT_IN_TIME_UNAVAILABLE',
    'STORAGE_UNAVAILABLE',
  ],
});

export const listRestores = operation({
  id: 'listRestores',
  method: 'GET',
  path: api('/backups/restore'),
  tag,
  summary: 'List restores',
  description: 'The history of restores, newest first; dry runs among them, unless `dryRun=false`.',
  access: reads,
  query: listRestoresQuery,
  success: list(restore),
  errors: [],
});

export const getRestore = operation({
  id: 'getRestore',
  method: 'GET',
  path: api('/backups/restore/{restoreJobId}'),
  tag,
  summary: 'Show a restore',
  description: 'Its phase, its progress, and a sample of what could not be written.',
  access: reads,
  params,
  success: ok(restore),
  etag: true,
  errors: ['RESTORE_NOT_FOUND'],
});

export const cancelRestore = operation({
  id: 'cancelRestore',
  method: 'POST',
  path: api('/backups/restore/{restoreJobId}/cancel'),
  tag,
  summary: 'Cancel a restore',
  description:
    'Stops writing: once it says `cancelled`, nothing more is written. What was written stays; undo takes it back.',
  access: runs,
  params,
  success: ok(restore),
  errors: ['RESTORE_NOT_FOUND', 'INVALID_STATE'],
});

export const resumeRestore = operation({
  id: 'resumeRestore',
  method: 'POST',
  path: api('/backups/restore/{restoreJobId}/resume'),
  tag,
  summary: 'Resume a restore',
  description:
    'Continues a failed or cancelled restore from its checkpoints. INVALID_STATE if its backup, its target or its journal no longer exists.',
  access: runs,
  params,
  success: accepted(restore),
  location: true,
  errors: ['RESTORE_NOT_FOUND', 'BACKUP_NOT_FOUND', 'PROJECT_NOT_FOUND', 'INVALID_STATE'],
});

export const undoRestore = operation({
  id: 'undoRestore',
  method: 'POST',
  path: api('/backups/restore/{restoreJobId}/undo'),
  tag,
  summary: 'Undo a restore',
  description:
    'Starts a restore that puts back the former state of exactly the documents that the given restore wrote or deleted: replaced and deleted documents return, created ones are deleted. A document that somebody has changed since is left and counted in `conflicts`, unless `force` is given. Works after failed, cancelled and resumed restores too.',
  access: runs,
  params,
  body: undoRestoreRequest,
  bodyOptional: true,
  success: accepted(restore),
  location: true,
  errors: ['RESTORE_NOT_FOUND', 'PROJECT_NOT_FOUND', 'INVALID_STATE'],
});

export const streamRestoreEvents = operation({
  id: 'streamRestoreEvents',
  method: 'GET',
  path: api('/backups/restore/{restoreJobId}/events'),
  tag,
  summary: 'Follow a restore live',
  description:
    'Server-sent events, one per phase and step of progress; the stream ends with the job. If the server process stops, it ends earlier with `retry`: connect again.',
  access: reads,
  params,
  success: { kind: 'stream', status: 200, contentTypes: ['text/event-stream'], schema: restoreEvent },
  errors: ['RESTORE_NOT_FOUND'],
});

export const listAllDrills = operation({
  id: 'listAllDrills',
  method: 'GET',
  path: api('/drills'),
  tag,
  summary: 'List all drills',
  description: 'Of every backup, newest first, each with its report.',
  access: reads,
  query: listAllDrillsQuery,
  success: list(drill),
  errors: [],
});
