import { z } from 'zod';
import { member, person } from '../access.ts';
import { api, created, done, list, ok, operation } from '../operation.ts';
import {
  createdOrganization,
  createOrganizationRequest,
  deletedOrganization,
  deleteOrganizationRequest,
  encryptionKey,
  organization,
  organizationSummary,
  recoverableOrganization,
  rotatedEncryptionKey,
  setEncryptionKeyRequest,
  subscriptionDetail,
  updatedOrganization,
  updateOrganizationRequest,
  updateSubscriptionRequest,
} from '../schemas/organizations.ts';
import { multilineText, pageQuery, pathId } from '../schemas/primitives.ts';

const tag = 'Organizations';

export const createOrganization = operation({
  id: 'createOrganization',
  method: 'POST',
  path: api('/organizations'),
  tag,
  summary: 'Create an organization',
  description: 'The caller becomes its owner.',
  access: person,
  body: createOrganizationRequest,
  success: created(createdOrganization),
  location: true,
  errors: ['SLUG_TAKEN', 'LIMIT_REACHED'],
});

export const listOrganizations = operation({
  id: 'listOrganizations',
  method: 'GET',
  path: api('/organizations'),
  tag,
  summary: "List the caller's organizations",
  description: 'The organizations the caller belongs to, with the role in each.',
  access: person,
  query: pageQuery,
  success: list(organizationSummary),
  errors: [],
});

export const listDeletedOrganizations = operation({
  id: 'listDeletedOrganizations',
  method: 'GET',
  path: api('/organizations/deleted'),
  tag,
  summary: 'List deleted organizations',
  description: 'The deleted organizations that the caller owned and can still recover.',
  access: person,
  query: pageQuery,
  success: list(recoverableOrganization),
  errors: [],
});

export const recoverOrganization = operation({
  id: 'recoverOrganization',
  method: 'POST',
  path: api('/organizations/{organizationId}/recover'),
  tag,
  summary: 'Recover a deleted organization',
  description: 'Only the former owner can, within 30 days of a soft delete; for everyone else it does not exist.',
  access: person,
  params: z.object({ organizationId: pathId() }),
  success: ok(createdOrganization),
  errors: ['ORGANIZATION_NOT_FOUND', 'SLUG_TAKEN'],
});

export const getOrganization = operation({
  id: 'getOrganization',
  method: 'GET',
  path: api('/organizations/current'),
  tag,
  summary: 'Show the organization',
  description: 'The organization named by `X-Organization-Id`, with its settings and statistics.',
  access: member('viewer', 'organization:read'),
  success: ok(organization),
  etag: true,
  errors: [],
});

export const updateOrganization = operation({
  id: 'updateOrganization',
  method: 'PUT',
  path: api('/organizations/current'),
  tag,
  summary: 'Change the organization',
  description: 'Only the fields that are given change.',
  access: member('admin', 'organization:write'),
  body: updateOrganizationRequest,
  success: ok(updatedOrganization),
  etag: true,
  errors: [],
});

export const deleteOrganization = operation({
  id: 'deleteOrganization',
  method: 'POST',
  path: api('/organizations/current/delete'),
  tag,
  summary: 'Delete the organization',
  description:
    'Soft by default: it can be recovered for 30 days, and nothing runs in that time. With `force` everything is removed at once and the key is destroyed, so that no copy of its backups can be read any more. Refused while a backup is under legal hold.',
  access: member('owner', null),
  body: deleteOrganizationRequest,
  success: ok(deletedOrganization),
  errors: ['INVALID_STATE'],
});

export const getSubscription = operation({
  id: 'getSubscription',
  method: 'GET',
  path: api('/organizations/current/subscription'),
  tag,
  summary: 'Show the subscription',
  description: 'The plan and the billing cycle of the organization, and what each plan gives.',
  access: member('owner', null),
  success: ok(subscriptionDetail),
  etag: true,
  errors: [],
});

export const updateSubscription = operation({
  id: 'updateSubscription',
  method: 'PUT',
  path: api('/organizations/current/subscription'),
  tag,
  summary: 'Change the subscription',
  description: 'Only the fields that are given change.',
  access: member('owner', null),
  body: updateSubscriptionRequest,
  success: ok(subscriptionDetail),
  etag: true,
  errors: [],
});

export const getEncryptionKey = operation({
  id: 'getEncryptionKey',
  method: 'GET',
  path: api('/organizations/current/encryption-key'),
  tag,
  summary: 'Show which key encrypts backups',
  description: "Whether the service's or the customer's key is in use. The key itself is never shown.",
  access: member('viewer', 'organization:read'),
  success: ok(encryptionKey),
  etag: true,
  errors: [],
});

export const setEncryptionKey = operation({
  id: 'setEncryptionKey',
  method: 'PUT',
  path: api('/organizations/current/encryption-key'),
  tag,
  summary: "Use the customer's own key",
  description:
    'Takes a passphrase or a 256-bit key. Backups made with it cannot be read while it is withdrawn. A key that the organization had before can be supplied again on every plan.',
  access: member('admin', 'organization:write'),
  plan: 'enterprise',
  planCheck: 'handler',
  body: setEncryptionKeyRequest,
  success: ok(encryptionKey),
  etag: true,
  errors: ['DECRYPTION_ERROR'],
});

export const removeEncryptionKey = operation({
  id: 'removeEncryptionKey',
  method: 'DELETE',
  path: api('/organizations/current/encryption-key'),
  tag,
  summary: "Return to the service's key",
  description: "Withdraws the customer's key: backups made with it are unreadable until it is supplied again.",
  access: member('admin', 'organization:write'),
  success: done,
  etag: true,
  errors: ['INVALID_STATE'],
});

export const rotateEncryptionKey = operation({
  id: 'rotateEncryptionKey',
  method: 'POST',
  path: api('/organizations/current/encryption-key/rotate'),
  tag,
  summary: "Rotate the organization's key",
  description: 'Makes a new key and re-wraps the key of every backup with it. Backup data is not touched.',
  access: member('admin', 'organization:write'),
  plan: 'enterprise',
  success: ok(rotatedEncryptionKey),
  errors: ['DECRYPTION_ERROR'],
});

export const takeRecoveryKit = operation({
  id: 'takeRecoveryKit',
  method: 'POST',
  path: api('/organizations/current/recovery-kit'),
  tag,
  summary: 'Take the recovery kit',
  description:
    "A text file with the organization's keys, its destinations (without credentials) and the commands that restore with the command line alone. Anyone who has it can read every backup. Keep it in another place than the service. A replayed answer (`Idempotency-Replayed: true`) contains no keys and is not a kit.",
  access: member('owner', null),
  secretAnswer: true,
  success: {
    kind: 'bare',
    status: 200,
    schema: multilineText({ max: 10_000_000 }),
    contentType: 'text/plain; charset=utf-8',
  },
  errors: ['DECRYPTION_ERROR'],
});
