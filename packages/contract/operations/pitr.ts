import { z } from 'zod';
import { member } from '../access.ts';
import { api, list, listWith, ok, operation, page } from '../operation.ts';
import { backupDiff, documentsScanned } from '../schemas/backups.ts';
import { backupDocument, collectionNode } from '../schemas/firestore.ts';
import {
  disablePitrRequest,
  documentHistoryQuery,
  documentVersion,
  enablePitrRequest,
  exportPitrQuery,
  pitrWindow,
  pitrWindowQuery,
  viewCollectionsQuery,
  viewDiffQuery,
  viewDocumentsQuery,
} from '../schemas/pitr.ts';
import { pathId } from '../schemas/primitives.ts';
import { readErrors } from './read-errors.ts';

const tag = 'Point-in-time recovery';
const params = z.object({ projectId: pathId() });
const reads = member('viewer', 'projects:read');
const switches = member('member', 'projects:write');
const sourceErrors = ['SOURCE_AUTH_ERROR', 'SOURCE_UNAVAILABLE', 'SOURCE_QUOTA_EXCEEDED'] as const;
const viewErrors = ['PROJECT_NOT_FOUND', ...readErrors, 'POINT_IN_TIME_UNAVAILABLE', ...sourceErrors] as const;
/** Browsing the past shows data, as browsing a backup does. */
const views = member('viewer', 'backups:read');

export const enablePitr = operation({
  id: 'enablePitr',
  method: 'POST',
  path: api('/projects/{projectId}/pitr/enable'),
  tag,
  summary: 'Switch point-in-time recovery on',
  description:
    'Takes a base backup and captures every change from then on. A log that was kept continues. Keeping it for fewer days than before also needs the right to delete backups: the role admin, or the scope `backups:delete`.',
  access: switches,
  params,
  body: enablePitrRequest,
  bodyOptional: true,
  success: ok(pitrWindow),
  errors: ['PROJECT_NOT_FOUND', 'STORAGE_DESTINATION_NOT_FOUND', 'INVALID_STATE', ...sourceErrors],
});

export const disablePitr = operation({
  id: 'disablePitr',
  method: 'POST',
  path: api('/projects/{projectId}/pitr/disable'),
  tag,
  summary: 'Switch point-in-time recovery off',
  description:
    'Capture stops. Captured changes stay until their retention ends, unless `deleteLog` is true. `deleteLog` also needs the right to delete backups (the role admin, or the scope `backups:delete`) and is refused while a restore reads the log.',
  access: switches,
  params,
  body: disablePitrRequest,
  bodyOptional: true,
  success: ok(pitrWindow),
  errors: ['PROJECT_NOT_FOUND', 'INVALID_STATE', 'RESOURCE_IN_USE'],
});

export const getPitr = operation({
  id: 'getPitr',
  method: 'GET',
  path: api('/projects/{projectId}/pitr'),
  tag,
  summary: 'Show the recovery window',
  description: 'Which instants can be restored, where the gaps are, and how far capture is behind.',
  access: reads,
  params,
  query: pitrWindowQuery,
  success: ok(pitrWindow),
  errors: ['PROJECT_NOT_FOUND'],
  etag: true,
});

export const listDocumentHistory = operation({
  id: 'listDocumentHistory',
  method: 'GET',
  path: api('/projects/{projectId}/pitr/history'),
  tag,
  summary: 'List the versions of a document',
  description: 'Every captured version, newest first.',
  access: views,
  params,
  query: documentHistoryQuery,
  success: list(documentVersion),
  errors: ['PROJECT_NOT_FOUND', ...readErrors],
});

export const viewPitrCollections = operation({
  id: 'viewPitrCollections',
  method: 'GET',
  path: api('/projects/{projectId}/pitr/view/collections'),
  tag,
  summary: 'List the collections at a moment',
  description: 'A tree of collections with their document counts, as they were.',
  access: views,
  params,
  query: viewCollectionsQuery,
  success: list(collectionNode),
  errors: viewErrors,
});

export const viewPitrDocuments = operation({
  id: 'viewPitrDocuments',
  method: 'GET',
  path: api('/projects/{projectId}/pitr/view/documents'),
  tag,
  summary: 'List documents at a moment',
  description: 'In the order of their names, as they were.',
  access: views,
  params,
  query: viewDocumentsQuery,
  success: listWith(backupDocument, documentsScanned),
  errors: [...viewErrors, 'COLLECTION_NOT_FOUND'],
});

export const viewPitrDiff = operation({
  id: 'viewPitrDiff',
  method: 'GET',
  path: api('/projects/{projectId}/pitr/view/diff'),
  tag,
  summary: 'Compare a moment',
  description: 'What changed from that moment to the live database, to another moment or to a backup, field by field.',
  access: views,
  params,
  query: viewDiffQuery,
  success: page(backupDiff),
  errors: [...viewErrors, 'BACKUP_NOT_FOUND', 'INVALID_STATE', 'COLLECTION_NOT_FOUND'],
});

export const exportPitr = operation({
  id: 'exportPitr',
  method: 'GET',
  path: api('/projects/{projectId}/pitr/view/export'),
  tag,
  summary: 'Export a moment',
  description: 'Streams one document per line, as the database was at that moment.',
  access: views,
  params,
  query: exportPitrQuery,
  success: {
    kind: 'stream',
    status: 200,
    contentTypes: ['application/x-ndjson'],
    schema: backupDocument.omit({ path: true }),
  },
  errors: [...viewErrors, 'COLLECTION_NOT_FOUND'],
});
