import { z } from 'zod';
import { member } from '../access.ts';
import { accepted, api, list, ok, operation } from '../operation.ts';
import { pathId } from '../schemas/primitives.ts';
import { listRestoresQuery, restore, restoreEvent, startRestoreRequest } from '../schemas/restores.ts';

const tag = 'Restores';
const params = z.object({ restoreJobId: pathId() });
const reads = member('viewer', 'backups:read');
const runs = member('member', 'backups:write');

export const startRestore = operation({
  id: 'startRestore',
  method: 'POST',
  path: api('/backups/restore'),
  tag,
  summary: 'Start a restore',
  description:
    'From a backup, or to a point in time of a project. What is about to be overwritten is saved first, unless `safetyBackup` is false. A second restore into the same target waits its turn.',
  access: runs,
  body: startRestoreRequest,
  success: accepted(restore),
  location: true,
  errors: ['BACKUP_NOT_FOUND', 'PROJECT_NOT_FOUND', 'INVALID_STATE', 'POINT_IN_TIME_UNAVAILABLE', 'DECRYPTION_ERROR'],
});

export const listRestores = operation({
  id: 'listRestores',
  method: 'GET',
  path: api('/backups/restore'),
  tag,
  summary: 'List restores',
  description: 'The history of restores, newest first.',
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
  description: 'Stops writing within seconds. What was written stays; the safety backup undoes it.',
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
  description: 'Continues a failed or cancelled restore from its checkpoints.',
  access: runs,
  params,
  success: accepted(restore),
  location: true,
  errors: ['RESTORE_NOT_FOUND', 'INVALID_STATE', 'DECRYPTION_ERROR'],
});

export const streamRestoreEvents = operation({
  id: 'streamRestoreEvents',
  method: 'GET',
  path: api('/backups/restore/{restoreJobId}/events'),
  tag,
  summary: 'Follow a restore live',
  description: 'Server-sent events, one per phase and step of progress; the stream ends with the job.',
  access: reads,
  params,
  success: { kind: 'stream', status: 200, contentTypes: ['text/event-stream'], schema: restoreEvent },
  errors: ['RESTORE_NOT_FOUND'],
});
