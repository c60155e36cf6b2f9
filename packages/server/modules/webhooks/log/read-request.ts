import type { Caller, WebhooksContext } from '../context.ts';
import { type RenderedRequest, renderRequest, signedWith } from '../requests/render-request.ts';
import { webhookStore } from '../webhook-store.ts';
import { deliveryStore } from './delivery-store.ts';
import { presentRequest } from './present-delivery.ts';

/** The last request and all answers. Before the first attempt: what would be sent now. */
export async function readRequest(
  { platform, secrets }: WebhooksContext,
  { organization }: Pick<Caller, 'organization'>,
  webhookId: string,
  deliveryId: string,
) {
  return platform.database.tenant(organization.id, async (transaction) => {
    const webhook = await webhookStore.get(transaction, organization.id, webhookId);
    const delivery = await deliveryStore.get(transaction, organization.id, webhookId, deliveryId);
    const attempts = await deliveryStore.attempts(transaction, organization.id, deliveryId);
    const last = await deliveryStore.lastSent(transaction, organization.id, deliveryId);
    const present = (request: RenderedRequest) => ({
      ...presentRequest(deliveryId, request, attempts),
      signedWith: signedWith(request, secrets.secret(webhook)),
    });
    if (last) {
      const sent = { url: last.url, headers: secrets.requestHeaders(deliveryId, last.sealedHeaders), body: last.body };
      return present(sent);
    }
    const event = await deliveryStore.event(transaction, organization.id, delivery.eventId);
    const now = platform.clock.now();
    const request: RenderedRequest = event
      ? renderRequest({ event, webhook: secrets.signer(webhook, now), deliveryId, attempt: 1, now })
      : { url: webhook.url, headers: {}, body: '' };
    return present(request);
  });
}
