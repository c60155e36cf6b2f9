import { auditEntry, type Caller, type WebhooksContext } from './context.ts';
import { webhookEtag } from './present-webhook.ts';
import { webhookStore } from './webhook-store.ts';

/** Nothing is sent from now on. Its log is no longer visible, and is removed afterwards. */
export async function deleteWebhook(
  { platform, audit }: WebhooksContext,
  caller: Caller,
  webhookId: string,
  requireMatch: (etag: string) => void,
): Promise<void> {
  await platform.database.tenant(caller.organization.id, async (transaction) => {
    const row = await webhookStore.lock(transaction, caller.organization.id, webhookId);
    requireMatch(webhookEtag(row));
    await webhookStore.remove(transaction, caller.organization.id, webhookId);
    await audit.write(transaction, auditEntry(caller, 'webhook.deleted', webhookId, { name: row.name }));
  });
}
