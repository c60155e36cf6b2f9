import { z } from 'zod';
import { member } from '../access.ts';
import { api, created, done, list, listWith, ok, operation } from '../operation.ts';
import { backupDocument, collectionNode } from '../schemas/firestore.ts';
import { documentHistoryQuery, knownVersion, projectDocumentQuery, versionsUnreadable } from '../schemas/pitr.ts';
import { firestoreName, pageQuery, pathId } from '../schemas/primitives.ts';
import {
  availableProject,
  costEstimate,
  createProjectRequest,
  deleteProjectQuery,
  project,
  reconnection,
  reconnectProjectRequest,
  updateProjectRequest,
} from '../schemas/projects.ts';

const tag = 'Projects';
const params = z.object({ projectId: pathId() });
const reads = member('viewer', 'projects:read');
const edits = member('member', 'projects:write');
/** Calls that contact the source at once can fail with its errors. */
const sourceErrors = ['SOURCE_AUTH_ERROR', 'SOURCE_UNAVAILABLE', 'SOURCE_QUOTA_EXCEEDED'] as const;

export const listProjects = operation({
  id: 'listProjects',
  method: 'GET',
  path: api('/projects'),
  tag,
  summary: 'List projects',
  description: 'The connected projects of the organization, newest first.',
  access: reads,
  query: pageQuery,
  success: list(project),
  errors: [],
});

export const createProject = operation({
  id: 'createProject',
  method: 'POST',
  path: api('/projects'),
  tag,
  summary: 'Connect a project',
  description: 'The connection is checked before the call answers; a project that cannot be reached is not created.',
  access: edits,
  body: createProjectRequest,
  success: created(project),
  location: true,
  errors: [...sourceErrors, 'LIMIT_REACHED'],
});

export const listAvailableProjects = operation({
  id: 'listAvailableProjects',
  method: 'GET',
  path: api('/projects/available'),
  tag,
  summary: 'List projects that could be connected',
  description:
    "The Google projects and databases the caller's consent can see. An API key has no consent and sees none.",
  access: reads,
  query: pageQuery,
  success: list(availableProject),
  errors: sourceErrors,
});

export const getProject = operation({
  id: 'getProject',
  method: 'GET',
  path: api('/projects/{projectId}'),
  tag,
  summary: 'Show a project',
  description: 'Its connection, settings, recovery window and statistics.',
  access: reads,
  params,
  success: ok(project),
  etag: true,
  errors: ['PROJECT_NOT_FOUND'],
});

export const updateProject = operation({
  id: 'updateProject',
  method: 'PATCH',
  path: api('/projects/{projectId}'),
  tag,
  summary: 'Change or move a project',
  description:
    'Changes name and settings, or moves the project with its backups to another organization. A move needs the role admin or owner in both and no running job. Schedules move too, disabled.',
  access: edits,
  params,
  body: updateProjectRequest,
  success: ok(project),
  etag: true,
  errors: [
    'PROJECT_NOT_FOUND',
    'RESOURCE_IN_USE',
    'LIMIT_REACHED',
    'CONFLICT',
    'DECRYPTION_ERROR',
    'STORAGE_UNAVAILABLE',
    'STORAGE_PERMISSION_DENIED',
  ],
});

export const deleteProject = operation({
  id: 'deleteProject',
  method: 'DELETE',
  path: api('/projects/{projectId}'),
  tag,
  summary: 'Disconnect a project',
  description:
    'Its backups stay until their retention ends, unless `deleteBackups` is true. Its captured changes are deleted. With `deleteBackups`, or when there are captured changes, an API key also needs the scope `backups:delete`.',
  access: member('admin', 'projects:write'),
  params,
  query: deleteProjectQuery,
  success: done,
  etag: true,
  errors: ['PROJECT_NOT_FOUND', 'RESOURCE_IN_USE', 'INVALID_STATE'],
});

export const reconnectProject = operation({
  id: 'reconnectProject',
  method: 'POST',
  path: api('/projects/{projectId}/reconnect'),
  tag,
  summary: 'Repair the connection of a project',
  description:
    'For a project connected by consent: the address where a person consents again. For other projects: checks the connection. With `key`: uses this service account from now on, if the database accepts it; otherwise nothing changes.',
  access: edits,
  params,
  body: reconnectProjectRequest,
  bodyOptional: true,
  success: ok(reconnection),
  errors: ['PROJECT_NOT_FOUND', ...sourceErrors],
});

export const unfreezeRetention = operation({
  id: 'unfreezeRetention',
  method: 'POST',
  path: api('/projects/{projectId}/retention/unfreeze'),
  tag,
  summary: 'Unfreeze retention',
  description:
    'After an anomaly nothing of the project is removed. Call this after you have looked at it: retention continues.',
  access: member('admin', 'projects:write'),
  params,
  success: ok(project),
  errors: ['PROJECT_NOT_FOUND', 'INVALID_STATE'],
});

export const listDocumentVersions = operation({
  id: 'listDocumentVersions',
  method: 'GET',
  path: api('/projects/{projectId}/history'),
  tag,
  summary: 'List every known version of a document',
  description:
    'From the backups, the captured changes and the live database, newest first. Backups that cannot be read are listed in `unreadable`; versions from elsewhere are still shown.',
  access: member('viewer', 'backups:read'),
  params,
  query: documentHistoryQuery,
  success: listWith(knownVersion, versionsUnreadable),
  errors: [
    'PROJECT_NOT_FOUND',
    'DECRYPTION_ERROR',
    'INTEGRITY_ERROR',
    'STORAGE_UNAVAILABLE',
    'STORAGE_PERMISSION_DENIED',
    'STORAGE_CREDENTIALS_MISSING',
    ...sourceErrors,
  ],
});

export const getProjectDocument = operation({
  id: 'getProjectDocument',
  method: 'GET',
  path: api('/projects/{projectId}/documents/{documentPath}'),
  tag,
  summary: 'Show a document as it is, or as it was',
  description:
    'From the live database, or with `at` as it was at a captured moment. Slashes in the path may be sent as they are or encoded.',
  access: member('viewer', 'backups:read'),
  params: params.extend({ documentPath: firestoreName({ min: 1, max: 6144 }).describe('Such as `users/ada`.') }),
  restParameter: 'documentPath',
  query: projectDocumentQuery,
  success: ok(backupDocument),
  errors: [
    'PROJECT_NOT_FOUND',
    'DOCUMENT_NOT_FOUND',
    'POINT_IN_TIME_UNAVAILABLE',
    'DECRYPTION_ERROR',
    'INTEGRITY_ERROR',
    'STORAGE_UNAVAILABLE',
    'STORAGE_PERMISSION_DENIED',
    'STORAGE_CREDENTIALS_MISSING',
    ...sourceErrors,
  ],
  etag: true,
});

export const listProjectCollections = operation({
  id: 'listProjectCollections',
  method: 'GET',
  path: api('/projects/{projectId}/collections'),
  tag,
  summary: 'List the collections of a project',
  description:
    'A tree of collections with their exact document counts, read from the live database. `sampled` marks places where only some documents were read to find collections.',
  access: reads,
  params,
  query: pageQuery,
  success: list(collectionNode),
  errors: ['PROJECT_NOT_FOUND', ...sourceErrors],
});

export const estimateProjectCost = operation({
  id: 'estimateProjectCost',
  method: 'GET',
  path: api('/projects/{projectId}/cost-estimate'),
  tag,
  summary: 'Estimate what jobs would cost',
  description: 'Reads, bytes, time and money that a full backup, an incremental one and a restore would take.',
  access: reads,
  params,
  success: ok(costEstimate),
  errors: ['PROJECT_NOT_FOUND', ...sourceErrors],
});
