import { type EventName, events, sampleMetadata } from '@holdfast/contract';
import type { EventPayload } from '../../platform/event-payload.ts';
import { checkTestEvent } from './check-settings.ts';
import { auditEntry, type Caller, type WebhooksContext } from './context.ts';
import { deliveryStore } from './log/delivery-store.ts';
import { type RenderedRequest, renderRequest } from './requests/render-request.ts';
import { disableGone } from './sending/after-sending.ts';
import { type Outcome, post } from './sending/post.ts';
import { type WebhookRow, webhookStore } from './webhook-store.ts';

const defaultEvent = 'backup.completed';

export interface WebhookTestResult {
  webhook: WebhookRow;
  event: string;
  outcome: Outcome;
}

/** Sends a sample of an event now, once, also to a disabled webhook, and keeps it in the log like any delivery. */
export async function testWebhook(
  context: WebhooksContext,
  caller: Caller,
  webhookId: string,
  eventName: string = defaultEvent,
): Promise<WebhookTestResult> {
  const { platform, secrets } = context;
  const { database, clock, ids } = platform;
  const webhook = await database.tenant(caller.organization.id, (transaction) =>
    webhookStore.get(transaction, caller.organization.id, webhookId),
  );
  checkTestEvent(webhook.format, eventName);
  const now = clock.now();
  const event = { id: ids.next('evt'), type: eventName, createdAt: now, payload: samplePayload(eventName, caller) };
  const deliveryId = ids.next('dlv');
  const rendered = renderRequest({ event, webhook: secrets.signer(webhook, now), deliveryId, attempt: 1, now });
  const agent = platform.outbound.createAgent({ keepAliveMs: 1 });
  try {
    const outcome = await post(agent, rendered, webhook.timeoutMs);
    await record(context, caller, webhook, event, deliveryId, rendered, outcome);
    return { webhook, event: eventName, outcome };
  } finally {
    await agent.destroy();
  }
}

/** The contract's sample with the organization of the caller. */
function samplePayload(name: string, { organization }: Caller): EventPayload {
  const { standard, simple } = events[name as EventName].formats;
  const data = { ...standard?.sample } as Record<string, unknown>;
  if ('organization' in data) data.organization = { id: organization.id, name: organization.name };
  return {
    data,
    isSample: true,
    ...(simple ? { simple: { ...simple.sample } } : {}),
    metadata: sampleMetadata(name as EventName),
  };
}

async function record(
  { platform, secrets, audit }: WebhooksContext,
  caller: Caller,
  webhook: WebhookRow,
  event: { id: string; type: string; createdAt: Date; payload: EventPayload },
  deliveryId: string,
  rendered: RenderedRequest,
  { success, statusCode, durationMs, error, responseBody }: Outcome,
): Promise<void> {
  const organizationId = caller.organization.id;
  const finishedAt = platform.clock.now();
  await platform.database.tenant(organizationId, async (transaction) => {
    const current = await webhookStore.get(transaction, organizationId, webhook.id);
    await deliveryStore.record(
      transaction,
      // Already dispatched, so that it goes to no other webhook.
      { ...event, organizationId, dispatchedAt: event.createdAt },
      {
        id: deliveryId,
        organizationId,
        webhookId: current.id,
        eventId: event.id,
        eventType: event.type,
        status: success ? 'delivered' : 'failed',
        attempts: 1,
        statusCode,
        durationMs,
        lastError: error,
        createdAt: event.createdAt,
        finishedAt,
      },
      {
        deliveryId,
        attempt: 1,
        organizationId,
        sentAt: event.createdAt,
        url: rendered.url,
        sealedHeaders: secrets.sealRequestHeaders(deliveryId, rendered.headers),
        body: rendered.body,
        statusCode,
        durationMs,
        error,
        responseBody,
      },
    );
    await webhookStore.touch(transaction, [{ id: current.id, at: event.createdAt, failed: !success }]);
    if (statusCode === 410) await disableGone({ platform, audit }, transaction, current);
    await audit.write(transaction, auditEntry(caller, 'webhook.tested', current.id, { event: event.type, success }));
  });
}
