import { pathOf } from '@holdfast/contract';
import type { Call, Handlers } from '../../http/call.ts';
import { ConcurrencyLimit } from '../../platform/concurrency-limit.ts';
import { pageOf } from '../../platform/cursor.ts';
import type { Caller, WebhooksContext } from './context.ts';
import { createWebhook } from './create-webhook.ts';
import { deleteWebhook } from './delete-webhook.ts';
import { deliveryStore } from './log/delivery-store.ts';
import { presentDelivery } from './log/present-delivery.ts';
import { readRequest } from './log/read-request.ts';
import { recoverDeliveries, retryDelivery } from './log/retry-delivery.ts';
import {
  maskHeaders,
  presentWebhook,
  presentWebhookWithSecret,
  seesHeaderValues,
  webhookEtag,
  withoutValues,
} from './present-webhook.ts';
import { rotateSecret } from './rotate-secret.ts';
import { testWebhook } from './test-webhook.ts';
import { updateWebhook } from './update-webhook.ts';
import { webhookStore } from './webhook-store.ts';

/** A receiver may make each of them wait for a minute. */
const testsAtOnceMax = 16;

export function webhookHandlers(context: WebhooksContext): Handlers {
  return { ...settingsHandlers(context), ...deliveryHandlers(context) };
}

function settingsHandlers(context: WebhooksContext): Handlers {
  const { database, cursors } = context.platform;
  const { secrets } = context;
  return {
    listWebhooks: async ({ organization, principal, query }) => {
      const before = cursors.read('webhooks', organization.id, query.cursor);
      const rows = await webhookStore.page(database, organization.id, { limit: query.limit + 1, before });
      const page = pageOf(rows, query.limit, (row) => cursors.write('webhooks', organization.id, row.id));
      const shown = page.rows.map((row) => presentWebhook(row, secrets));
      const data = seesHeaderValues(organization, principal) ? shown : shown.map(maskHeaders);
      return { data, nextCursor: page.nextCursor };
    },
    createWebhook: async (call) => {
      const { row, generatedSecret } = await createWebhook(context, callerOf(call), call.body);
      const { id, name, url, events, enabled, createdAt, format } = presentWebhook(row, secrets);
      const shown = { id, name, url, events, enabled, createdAt, format };
      return {
        data: generatedSecret === undefined ? shown : { ...shown, secret: generatedSecret },
        location: pathOf('getWebhook', { webhookId: id }),
        etag: webhookEtag(row),
      };
    },
    getWebhook: async ({ organization, principal, params }) => {
      const row = await database.tenant(organization.id, (transaction) =>
        webhookStore.get(transaction, organization.id, params.webhookId),
      );
      const shown = presentWebhookWithSecret(row, secrets);
      const data = seesHeaderValues(organization, principal) ? shown : maskHeaders(shown);
      return { data, etag: webhookEtag(row) };
    },
    updateWebhook: async (call) => {
      const row = await updateWebhook(context, callerOf(call), call.params.webhookId, call.body, call.requireMatch);
      const { id, name, events, updatedAt } = presentWebhook(row, secrets);
      return { data: { id, name, events, updatedAt }, etag: webhookEtag(row) };
    },
    patchWebhook: async (call) => {
      const row = await updateWebhook(context, callerOf(call), call.params.webhookId, call.body, call.requireMatch);
      return { data: presentWebhookWithSecret(row, secrets), etag: webhookEtag(row) };
    },
    toggleWebhook: async (call) => {
      const row = await updateWebhook(context, callerOf(call), call.params.webhookId, call.body, call.requireMatch);
      const { id, enabled, updatedAt } = presentWebhook(row, secrets);
      return { data: { id, enabled, updatedAt }, etag: webhookEtag(row) };
    },
    deleteWebhook: async (call) => {
      await deleteWebhook(context, callerOf(call), call.params.webhookId, call.requireMatch);
      return { message: 'The webhook was deleted.' };
    },
    rotateWebhookSecret: async (call) => {
      const { row, secret } = await rotateSecret(context, callerOf(call), call.params.webhookId);
      const previousSecretValidUntil = row.previousSecretValidUntil?.toISOString() ?? null;
      return { data: { id: row.id, secret, previousSecretValidUntil } };
    },
  };
}

function deliveryHandlers(context: WebhooksContext): Handlers {
  const { database, cursors } = context.platform;
  const tests = new ConcurrencyLimit('test calls', testsAtOnceMax);
  return {
    testWebhook: async (call) => {
      const result = await tests.run(call.organization.id, () =>
        testWebhook(context, callerOf(call), call.params.webhookId, call.body?.event),
      );
      const { webhook, event, outcome } = result;
      return {
        data: {
          webhookId: webhook.id,
          webhookName: webhook.name,
          event,
          url: webhook.url,
          success: outcome.success,
          statusCode: outcome.statusCode,
          ...(outcome.error === null ? {} : { error: outcome.error }),
          duration: outcome.durationMs,
        },
      };
    },
    listDeliveries: async ({ organization, params, query }) => {
      const filters = { status: query.status, eventType: query.eventType };
      const bound = [organization.id, params.webhookId, filters];
      const before = cursors.read('deliveries', bound, query.cursor);
      const rows = await database.tenant(organization.id, async (transaction) => {
        await webhookStore.get(transaction, organization.id, params.webhookId);
        return deliveryStore.list(transaction, organization.id, params.webhookId, filters, query.limit + 1, before);
      });
      const page = pageOf(rows, query.limit, (row) => cursors.write('deliveries', bound, row.id));
      return { data: { deliveries: page.rows.map(presentDelivery) }, nextCursor: page.nextCursor };
    },
    retryDelivery: async (call) => {
      const { webhookId, deliveryId } = call.params;
      const row = await retryDelivery(context, callerOf(call), webhookId, deliveryId);
      return { data: presentDelivery(row), location: pathOf('getDeliveryRequest', { webhookId, deliveryId }) };
    },
    getDeliveryRequest: async ({ organization, principal, params }) => {
      const request = await readRequest(context, { organization }, params.webhookId, params.deliveryId);
      const headers = seesHeaderValues(organization, principal) ? request.headers : withoutValues(request.headers);
      return { data: { ...request, headers } };
    },
    recoverWebhook: async (call) => {
      const { webhookId } = call.params;
      const data = await recoverDeliveries(context, callerOf(call), webhookId, new Date(call.body.since));
      return { data, location: pathOf('listDeliveries', { webhookId }) };
    },
  };
}

function callerOf({
  organization,
  principal,
  origin,
}: Pick<Call<object>, 'principal' | 'origin'> & Pick<Caller, 'organization'>): Caller {
  return { organization, principal, origin };
}
