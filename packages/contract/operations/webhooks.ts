import { z } from 'zod';
import { member } from '../access.ts';
import { accepted, api, created, done, list, ok, operation, page } from '../operation.ts';
import { pageQuery, pathId } from '../schemas/primitives.ts';
import {
  createdWebhook,
  createWebhookRequest,
  delivery,
  deliveryRequest,
  listDeliveriesQuery,
  patchWebhookRequest,
  recoveredWebhook,
  recoverWebhookRequest,
  rotatedWebhookSecret,
  testWebhookRequest,
  toggledWebhook,
  toggleWebhookRequest,
  updatedWebhook,
  updateWebhookRequest,
  webhook,
  webhookTest,
  webhookWithSecret,
} from '../schemas/webhooks.ts';

const tag = 'Webhooks';
const params = z.object({ webhookId: pathId() });
const deliveryParams = params.extend({ deliveryId: pathId() });
const reads = member('viewer', 'organization:read');
const configures = member('admin', 'organization:write');

export const listWebhooks = operation({
  id: 'listWebhooks',
  method: 'GET',
  path: api('/webhooks'),
  tag,
  summary: 'List webhooks',
  description: 'Newest first.',
  access: reads,
  query: pageQuery,
  success: list(webhook),
  errors: [],
});

export const createWebhook = operation({
  id: 'createWebhook',
  method: 'POST',
  path: api('/webhooks'),
  tag,
  summary: 'Create a webhook',
  description: 'A standard webhook without a secret gets a generated one, which this answer shows once.',
  access: configures,
  body: createWebhookRequest,
  success: created(createdWebhook),
  location: true,
  secretFields: ['secret'],
  errors: ['LIMIT_REACHED'],
});

export const getWebhook = operation({
  id: 'getWebhook',
  method: 'GET',
  path: api('/webhooks/{webhookId}'),
  tag,
  summary: 'Show a webhook',
  description: 'With its secret masked.',
  access: reads,
  params,
  success: ok(webhookWithSecret),
  etag: true,
  errors: ['WEBHOOK_NOT_FOUND'],
});

export const updateWebhook = operation({
  id: 'updateWebhook',
  method: 'PUT',
  path: api('/webhooks/{webhookId}'),
  tag,
  summary: 'Change a webhook',
  description: 'Only the fields that are given change.',
  access: configures,
  params,
  body: updateWebhookRequest,
  success: ok(updatedWebhook),
  etag: true,
  errors: ['WEBHOOK_NOT_FOUND'],
});

export const patchWebhook = operation({
  id: 'patchWebhook',
  method: 'PATCH',
  path: api('/webhooks/{webhookId}'),
  tag,
  summary: 'Change settings of a webhook',
  description:
    'Accepts headers, filters, timeout and retries in addition to the basic fields, and returns the whole webhook.',
  access: configures,
  params,
  body: patchWebhookRequest,
  success: ok(webhookWithSecret),
  etag: true,
  errors: ['WEBHOOK_NOT_FOUND'],
});

export const deleteWebhook = operation({
  id: 'deleteWebhook',
  method: 'DELETE',
  path: api('/webhooks/{webhookId}'),
  tag,
  summary: 'Delete a webhook',
  description: 'Pending deliveries are dropped.',
  access: configures,
  params,
  success: done,
  etag: true,
  errors: ['WEBHOOK_NOT_FOUND'],
});

export const toggleWebhook = operation({
  id: 'toggleWebhook',
  method: 'PATCH',
  path: api('/webhooks/{webhookId}/toggle'),
  tag,
  summary: 'Enable or disable a webhook',
  description: 'A disabled webhook receives nothing; events that happen meanwhile are not sent later.',
  access: configures,
  params,
  body: toggleWebhookRequest,
  success: ok(toggledWebhook),
  etag: true,
  errors: ['WEBHOOK_NOT_FOUND'],
});

export const testWebhook = operation({
  id: 'testWebhook',
  method: 'POST',
  path: api('/webhooks/{webhookId}/test'),
  tag,
  summary: 'Send a test event',
  description:
    'Sends a sample of the chosen event. The call succeeds even when the delivery fails; see `data.success`. An organization can have 16 in progress at once, then `RATE_LIMITED`.',
  access: configures,
  params,
  body: testWebhookRequest,
  bodyOptional: true,
  success: ok(webhookTest),
  errors: ['WEBHOOK_NOT_FOUND'],
});

export const rotateWebhookSecret = operation({
  id: 'rotateWebhookSecret',
  method: 'POST',
  path: api('/webhooks/{webhookId}/rotate-secret'),
  tag,
  summary: 'Rotate the signing secret',
  description:
    'Returns a new secret, once. For 24 hours the old secret signs too. After further rotations each former secret keeps its own 24 hours, up to 20 of them.',
  access: configures,
  params,
  success: ok(rotatedWebhookSecret),
  secretFields: ['secret'],
  errors: ['WEBHOOK_NOT_FOUND'],
});

export const recoverWebhook = operation({
  id: 'recoverWebhook',
  method: 'POST',
  path: api('/webhooks/{webhookId}/recover'),
  tag,
  summary: 'Send failed deliveries again',
  description: 'Every delivery that failed since the given time is sent again. A disabled webhook gets nothing.',
  access: configures,
  params,
  body: recoverWebhookRequest,
  success: accepted(recoveredWebhook),
  location: true,
  errors: ['WEBHOOK_NOT_FOUND', 'INVALID_STATE'],
});

export const listDeliveries = operation({
  id: 'listDeliveries',
  method: 'GET',
  path: api('/webhooks/{webhookId}/deliveries'),
  tag,
  summary: 'List deliveries',
  description: 'Newest first.',
  access: reads,
  params,
  query: listDeliveriesQuery,
  success: page(z.object({ deliveries: z.array(delivery).max(200) })),
  errors: ['WEBHOOK_NOT_FOUND'],
});

export const retryDelivery = operation({
  id: 'retryDelivery',
  method: 'POST',
  path: api('/webhooks/{webhookId}/deliveries/{deliveryId}/retry'),
  tag,
  summary: 'Send a delivery again',
  description: 'Keeps the delivery id; attempts continue to count, and a pending automatic retry is replaced.',
  access: configures,
  params: deliveryParams,
  success: accepted(delivery),
  location: true,
  errors: ['WEBHOOK_NOT_FOUND', 'DELIVERY_NOT_FOUND', 'INVALID_STATE'],
});

export const getDeliveryRequest = operation({
  id: 'getDeliveryRequest',
  method: 'GET',
  path: api('/webhooks/{webhookId}/deliveries/{deliveryId}/request'),
  tag,
  summary: 'Show what was sent',
  description: 'The raw request, and what came back on every attempt.',
  access: reads,
  params: deliveryParams,
  success: ok(deliveryRequest),
  errors: ['WEBHOOK_NOT_FOUND', 'DELIVERY_NOT_FOUND'],
});
