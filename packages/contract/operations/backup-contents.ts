import { z } from 'zod';
import { member } from '../access.ts';
import { api, list, listWith, ok, operation, page } from '../operation.ts';
import {
  backupDiff,
  backupEvent,
  diffBackupQuery,
  documentsScanned,
  exportBackupQuery,
  listBackupDocumentsQuery,
} from '../schemas/backups.ts';
import { backupDocument, collectionNode } from '../schemas/firestore.ts';
import { firestoreName, pageQuery, pathId } from '../schemas/primitives.ts';
import { readErrors } from './read-errors.ts';

/** Browsing a backup without restoring it. */

const tag = 'Backup contents';
const params = z.object({ backupId: pathId() });
const access = member('viewer', 'backups:read');
const contentErrors = ['BACKUP_NOT_FOUND', 'INVALID_STATE', ...readErrors] as const;

export const listBackupCollections = operation({
  id: 'listBackupCollections',
  method: 'GET',
  path: api('/backups/{backupId}/collections'),
  tag,
  summary: 'List the collections of a backup',
  description: 'A tree of collections with their document counts.',
  access,
  params,
  query: pageQuery,
  success: list(collectionNode),
  errors: contentErrors,
});

export const listBackupDocuments = operation({
  id: 'listBackupDocuments',
  method: 'GET',
  path: api('/backups/{backupId}/documents'),
  tag,
  summary: 'List documents of a backup',
  description:
    'In the order of their names. Values take the form of the Firestore REST API. A search has a time limit; the cursor continues where it stopped.',
  access,
  params,
  query: listBackupDocumentsQuery,
  success: listWith(backupDocument, documentsScanned),
  errors: [...contentErrors, 'COLLECTION_NOT_FOUND'],
});

export const getBackupDocument = operation({
  id: 'getBackupDocument',
  method: 'GET',
  path: api('/backups/{backupId}/documents/{documentPath}'),
  tag,
  summary: 'Show a document of a backup',
  description:
    'Reads only the part of the backup that holds the document. Slashes in the path may be sent as they are or encoded.',
  access,
  params: params.extend({ documentPath: firestoreName({ min: 1, max: 6144 }).describe('Such as `users/ada`.') }),
  restParameter: 'documentPath',
  success: ok(backupDocument),
  errors: [...contentErrors, 'DOCUMENT_NOT_FOUND'],
  etag: true,
});

export const diffBackup = operation({
  id: 'diffBackup',
  method: 'GET',
  path: api('/backups/{backupId}/diff'),
  tag,
  summary: 'Compare a backup',
  description: 'What changed from this backup to the live database or to another backup, field by field, page by page.',
  access,
  params,
  query: diffBackupQuery,
  success: page(backupDiff),
  errors: [
    ...contentErrors,
    'COLLECTION_NOT_FOUND',
    'PROJECT_NOT_FOUND',
    'SOURCE_AUTH_ERROR',
    'SOURCE_UNAVAILABLE',
    'SOURCE_QUOTA_EXCEEDED',
  ],
});

export const exportBackup = operation({
  id: 'exportBackup',
  method: 'GET',
  path: api('/backups/{backupId}/export'),
  tag,
  summary: 'Export a backup',
  description: 'Streams one document per line; for an increment, all documents as of its moment.',
  access,
  params,
  query: exportBackupQuery,
  success: {
    kind: 'stream',
    status: 200,
    contentTypes: ['application/x-ndjson'],
    schema: backupDocument.omit({ path: true }),
  },
  errors: [...contentErrors, 'COLLECTION_NOT_FOUND'],
});

export const streamBackupEvents = operation({
  id: 'streamBackupEvents',
  method: 'GET',
  path: api('/backups/{backupId}/events'),
  tag,
  summary: 'Follow a backup live',
  description:
    'Server-sent events, one per step of progress; the stream ends with the job. If the server process stops, it ends earlier with `retry`: connect again.',
  access,
  params,
  success: { kind: 'stream', status: 200, contentTypes: ['text/event-stream'], schema: backupEvent },
  errors: ['BACKUP_NOT_FOUND'],
});
