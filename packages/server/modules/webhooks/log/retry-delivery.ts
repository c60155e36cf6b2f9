import { Problem } from '../../../platform/problem.ts';
import { auditEntry, type Caller, type WebhooksContext } from '../context.ts';
import { announceDeliveries } from '../sending/dispatch-store.ts';
import { type WebhookRow, webhookStore } from '../webhook-store.ts';
import { deliveryStore, type ShownDelivery } from './delivery-store.ts';

/**
 * Sends a delivery again as soon as a sender is free: same id, attempts continue counting, a waiting automatic retry is
 * replaced.
 */
export async function retryDelivery(
  { platform, audit }: WebhooksContext,
  caller: Caller,
  webhookId: string,
  deliveryId: string,
): Promise<ShownDelivery> {
  const { id: organizationId } = caller.organization;
  return platform.database.tenant(organizationId, async (transaction) => {
    requireEnabled(await webhookStore.get(transaction, organizationId, webhookId));
    const now = platform.clock.now();
    const row = await deliveryStore.makeDue(transaction, organizationId, webhookId, deliveryId, now);
    await announceDeliveries(transaction);
    await audit.write(transaction, auditEntry(caller, 'webhook.delivery_retried', webhookId, { deliveryId }));
    return row;
  });
}

/** A piece is one transaction, so that no statement lasts long and senders can begin early. */
const pieceSize = 2000;
/** One call sends at most this many pieces again; the next call continues. */
const piecesMax = 10;

/** Sends everything again that failed since then; returns what is retried automatically and whether there is more. */
export async function recoverDeliveries(
  context: WebhooksContext,
  caller: Caller,
  webhookId: string,
  since: Date,
): Promise<{ recovered: number; tryingAgain: number; hasMore: boolean }> {
  const { id: organizationId } = caller.organization;
  const tryingAgain = await context.platform.database.tenant(organizationId, (transaction) =>
    deliveryStore.countTryingAgain(transaction, organizationId, webhookId),
  );
  let recovered = 0;
  let after = '';
  for (let piece = 0; piece < piecesMax; piece++) {
    const ids = await recoverPiece(context, caller, webhookId, since, { after, isFirst: piece === 0 });
    recovered += ids.length;
    if (ids.length < pieceSize) return { recovered, tryingAgain, hasMore: false };
    after = ids.at(-1) ?? after;
  }
  return { recovered, tryingAgain, hasMore: true };
}

/** Each piece continues after the last id, so a delivery is sent once even if it fails again before the last piece. */
async function recoverPiece(
  { platform, audit }: WebhooksContext,
  caller: Caller,
  webhookId: string,
  since: Date,
  { after, isFirst }: { after: string; isFirst: boolean },
): Promise<string[]> {
  const { id: organizationId } = caller.organization;
  return platform.database.tenant(organizationId, async (transaction) => {
    requireEnabled(await webhookStore.get(transaction, organizationId, webhookId));
    const page = { after, limit: pieceSize };
    const ids = await deliveryStore.failedSince(transaction, organizationId, webhookId, since, page);
    if (ids.length === 0 && !isFirst) return ids;
    await deliveryStore.makeAllDue(transaction, ids, platform.clock.now());
    await announceDeliveries(transaction);
    const details = { since: since.toISOString(), recovered: ids.length };
    await audit.write(transaction, auditEntry(caller, 'webhook.recovered', webhookId, details));
    return ids;
  });
}

/** Refuses a disabled webhook: the delivery would fail at once and look as if it had been sent. */
function requireEnabled({ enabled }: WebhookRow): void {
  if (!enabled) throw new Problem('INVALID_STATE', 'The webhook is disabled and gets nothing: enable it first.');
}
