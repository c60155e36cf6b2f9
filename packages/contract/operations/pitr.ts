import { z } from 'zod';
import { member } from '../access.ts';
import { api, list, ok, operation } from '../operation.ts';
import { documentHistoryQuery, documentVersion, enablePitrRequest, pitrWindow } from '../schemas/pitr.ts';
import { pathId } from '../schemas/primitives.ts';

const tag = 'Point-in-time recovery';
const params = z.object({ projectId: pathId() });
const reads = member('viewer', 'projects:read');
const switches = member('member', 'projects:write');
const available = false;

export const enablePitr = operation({
  id: 'enablePitr',
  method: 'POST',
  path: api('/projects/{projectId}/pitr/enable'),
  tag,
  summary: 'Switch point-in-time recovery on',
  description: 'Takes a base backup and captures every change from then on.',
  access: switches,
  available,
  params,
  body: enablePitrRequest,
  bodyOptional: true,
  success: ok(pitrWindow),
  errors: ['PROJECT_NOT_FOUND', 'STORAGE_DESTINATION_NOT_FOUND', 'INVALID_STATE'],
});

export const disablePitr = operation({
  id: 'disablePitr',
  method: 'POST',
  path: api('/projects/{projectId}/pitr/disable'),
  tag,
  summary: 'Switch point-in-time recovery off',
  description: 'Capture stops; what was captured stays until its retention ends.',
  access: switches,
  available,
  params,
  success: ok(pitrWindow),
  errors: ['PROJECT_NOT_FOUND', 'INVALID_STATE'],
});

export const getPitr = operation({
  id: 'getPitr',
  method: 'GET',
  path: api('/projects/{projectId}/pitr'),
  tag,
  summary: 'Show the recovery window',
  description: 'Which instants can be reached, where the gaps are, and how far capture is behind.',
  access: reads,
  available,
  params,
  success: ok(pitrWindow),
  errors: ['PROJECT_NOT_FOUND'],
});

export const listDocumentHistory = operation({
  id: 'listDocumentHistory',
  method: 'GET',
  path: api('/projects/{projectId}/pitr/history'),
  tag,
  summary: 'List the versions of a document',
  description: 'Every captured version, newest first.',
  access: reads,
  available,
  params,
  query: documentHistoryQuery,
  success: list(documentVersion),
  errors: ['PROJECT_NOT_FOUND', 'DECRYPTION_ERROR', 'INTEGRITY_ERROR', 'STORAGE_UNAVAILABLE'],
});
