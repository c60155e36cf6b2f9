import { auditEntry, type Caller, type WebhooksContext } from '../context.ts';
import { announceDeliveries } from '../sending/dispatch-store.ts';
import { webhookStore } from '../webhook-store.ts';
import { type DeliveryRow, deliveryStore } from './delivery-store.ts';

/** Sends a delivery again as soon as a sender is free: same id, attempts go on counting, a waiting automatic retry is replaced. */
export async function retryDelivery(
  { platform, audit }: WebhooksContext,
  caller: Caller,
  webhookId: string,
  deliveryId: string,
): Promise<DeliveryRow> {
  const { id: organizationId } = caller.organization;
  return platform.database.tenant(organizationId, async (transaction) => {
    await webhookStore.get(transaction, organizationId, webhookId);
    const now = platform.clock.now();
    const row = await deliveryStore.makeDue(transaction, organizationId, webhookId, deliveryId, now);
    await announceDeliveries(transaction);
    await audit.write(transaction, auditEntry(caller, 'webhook.delivery_retried', webhookId, { deliveryId }));
    return row;
  });
}

/** Sends everything again that failed since then, and tells what goes on by itself. */
export async function recoverDeliveries(
  { platform, audit }: WebhooksContext,
  caller: Caller,
  webhookId: string,
  since: Date,
): Promise<{ recovered: number; tryingAgain: number }> {
  const { id: organizationId } = caller.organization;
  return platform.database.tenant(organizationId, async (transaction) => {
    await webhookStore.get(transaction, organizationId, webhookId);
    const tryingAgain = await deliveryStore.countTryingAgain(transaction, organizationId, webhookId);
    const recovered = await deliveryStore.recover(transaction, organizationId, webhookId, since, platform.clock.now());
    await announceDeliveries(transaction);
    const details = { since: since.toISOString(), recovered };
    await audit.write(transaction, auditEntry(caller, 'webhook.recovered', webhookId, details));
    return { recovered, tryingAgain };
  });
}
