import { z } from 'zod';
import { member } from '../access.ts';
import { accepted, api, created, done, list, ok, operation } from '../operation.ts';
import { pageQuery, pathId } from '../schemas/primitives.ts';
import {
  availableBucket,
  createStorageRequest,
  listBucketsRequest,
  migrateStorageRequest,
  orphan,
  purgeStorageRequest,
  storageDestination,
  storageProject,
  storageTask,
  storageTest,
  updateStorageRequest,
} from '../schemas/storage.ts';

const tag = 'Storage destinations';
const params = z.object({ storageDestinationId: pathId() });
const reads = member('viewer', 'storage:read');
const configures = member('admin', 'storage:write');
const notFound = 'STORAGE_DESTINATION_NOT_FOUND';
const storageErrors = ['STORAGE_UNAVAILABLE', 'STORAGE_PERMISSION_DENIED', 'STORAGE_CREDENTIALS_MISSING'] as const;

export const listStorageDestinations = operation({
  id: 'listStorageDestinations',
  method: 'GET',
  path: api('/storage-destinations'),
  tag,
  summary: 'List storage destinations',
  description: 'Where backups of the organization can go, newest first.',
  access: reads,
  query: pageQuery,
  success: list(storageDestination),
  errors: [],
});

export const createStorageDestination = operation({
  id: 'createStorageDestination',
  method: 'POST',
  path: api('/storage-destinations'),
  tag,
  summary: 'Add a storage destination',
  description:
    'The destination is checked at once. If the check fails, it is saved with status `error`, so that it can be corrected. The operator limits the number of destinations (500 by default); then LIMIT_REACHED.',
  access: configures,
  body: createStorageRequest,
  success: created(storageDestination),
  location: true,
  errors: ['LIMIT_REACHED'],
});

export const listBuckets = operation({
  id: 'listBuckets',
  method: 'POST',
  path: api('/storage-destinations/buckets'),
  tag,
  summary: 'List the buckets that credentials can see',
  description: 'For the setup form: nothing is stored.',
  access: configures,
  body: listBucketsRequest,
  success: ok(z.object({ buckets: z.array(availableBucket).max(1000) })),
  errors: storageErrors,
});

export const getStorageDestination = operation({
  id: 'getStorageDestination',
  method: 'GET',
  path: api('/storage-destinations/{storageDestinationId}'),
  tag,
  summary: 'Show a storage destination',
  description: 'Its address, its state and what it contains; never its credentials.',
  access: reads,
  params,
  success: ok(storageDestination),
  etag: true,
  errors: [notFound],
});

export const listStorageProjects = operation({
  id: 'listStorageProjects',
  method: 'GET',
  path: api('/storage-destinations/{storageDestinationId}/projects'),
  tag,
  summary: 'List what a storage destination holds, by project',
  description:
    'Backups and captured logs of each project that has data there, the largest amount of backup data first.',
  access: reads,
  params,
  query: pageQuery,
  success: list(storageProject),
  errors: [notFound],
});

export const updateStorageDestination = operation({
  id: 'updateStorageDestination',
  method: 'PATCH',
  path: api('/storage-destinations/{storageDestinationId}'),
  tag,
  summary: 'Change a storage destination',
  description:
    'Only the fields that are given change. Another bucket, endpoint or region needs the credentials again, and is refused while a task works on the destination or a backup is being written to it. The new place is checked at once, and also whether it contains the backups that are recorded for it.',
  access: configures,
  params,
  body: updateStorageRequest,
  success: ok(storageDestination),
  etag: true,
  errors: [notFound, 'RESOURCE_IN_USE'],
});

export const deleteStorageDestination = operation({
  id: 'deleteStorageDestination',
  method: 'DELETE',
  path: api('/storage-destinations/{storageDestinationId}'),
  tag,
  summary: 'Remove a storage destination',
  description:
    "Refused while backups, schedules or point-in-time recovery use it. The copies of the organization's keys in it are removed too. They stay if the destination cannot be reached, or if backups of a project that moved to another organization need them; the message then says so. All other objects in it stay.",
  access: configures,
  params,
  success: done,
  etag: true,
  errors: [notFound, 'RESOURCE_IN_USE'],
});

export const testStorageDestination = operation({
  id: 'testStorageDestination',
  method: 'POST',
  path: api('/storage-destinations/{storageDestinationId}/test'),
  tag,
  summary: 'Test a storage destination',
  description:
    'Writes a probe object, reads it, reads a range of it, lists it and deletes it. With an object lock, also checks whether the bucket can lock. The call succeeds; failed steps are listed in the answer.',
  access: configures,
  params,
  success: ok(storageTest),
  errors: [notFound],
});

export const rescanStorageDestination = operation({
  id: 'rescanStorageDestination',
  method: 'POST',
  path: api('/storage-destinations/{storageDestinationId}/rescan'),
  tag,
  summary: 'Rebuild the catalogue from the bucket',
  description: 'Finds backups in the destination that are not known here, and registers them under their own ids.',
  access: configures,
  params,
  success: accepted(storageTask),
  location: true,
  errors: [notFound],
});

export const listOrphans = operation({
  id: 'listOrphans',
  method: 'GET',
  path: api('/storage-destinations/{storageDestinationId}/orphans'),
  tag,
  summary: 'List objects that no backup owns',
  description: 'Only objects of this service; other objects in the bucket are never touched.',
  access: reads,
  params,
  query: pageQuery,
  success: list(orphan),
  errors: [notFound, ...storageErrors],
});

export const sweepStorageDestination = operation({
  id: 'sweepStorageDestination',
  method: 'POST',
  path: api('/storage-destinations/{storageDestinationId}/sweep'),
  tag,
  summary: 'Delete objects that no backup owns',
  description: 'Removes what the list of orphans shows, except recent objects that may belong to a running job.',
  access: configures,
  params,
  success: accepted(storageTask),
  location: true,
  errors: [notFound],
});

export const purgeStorageDestination = operation({
  id: 'purgeStorageDestination',
  method: 'POST',
  path: api('/storage-destinations/{storageDestinationId}/purge'),
  tag,
  summary: 'Remove hidden versions for good',
  description:
    'In a bucket that keeps versions, removed objects are only hidden. This removes the versions of our objects that have no current version and that no backup needs. They cannot be brought back. Versions under object lock or hold stay and are counted; other objects are never touched. `dryRun` counts without removing.',
  access: configures,
  params,
  body: purgeStorageRequest,
  bodyOptional: true,
  success: accepted(storageTask),
  location: true,
  errors: [notFound],
});

export const migrateStorageDestination = operation({
  id: 'migrateStorageDestination',
  method: 'POST',
  path: api('/storage-destinations/{storageDestinationId}/migrate'),
  tag,
  summary: 'Move backups to another destination',
  description: 'Copies every backup, verifies the copy, then removes the original.',
  access: configures,
  params,
  body: migrateStorageRequest,
  success: accepted(storageTask),
  location: true,
  errors: [notFound, 'RESOURCE_IN_USE', 'INVALID_STATE', ...storageErrors],
});

export const listStorageTasks = operation({
  id: 'listStorageTasks',
  method: 'GET',
  path: api('/storage-destinations/{storageDestinationId}/tasks'),
  tag,
  summary: 'List the tasks of a storage destination',
  description: 'Rescans, sweeps, purges and migrations, newest first.',
  access: reads,
  params,
  query: pageQuery,
  success: list(storageTask),
  errors: [notFound],
});

export const getStorageTask = operation({
  id: 'getStorageTask',
  method: 'GET',
  path: api('/storage-destinations/{storageDestinationId}/tasks/{taskId}'),
  tag,
  summary: 'Show a task of a storage destination',
  description: 'The progress of a rescan, sweep, purge or migration, and what it found.',
  access: reads,
  params: params.extend({ taskId: pathId() }),
  success: ok(storageTask),
  errors: [notFound, 'NOT_FOUND'],
  etag: true,
});
