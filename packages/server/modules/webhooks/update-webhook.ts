import type { BodyOf, Operations } from '@holdfast/contract';
import { defined } from '../../platform/defined.ts';
import { differences } from '../../platform/differences.ts';
import { checkFilters, checkSubscriptions, checkUrl } from './check-settings.ts';
import { auditEntry, type Caller, type WebhooksContext } from './context.ts';
import { webhookEtag } from './present-webhook.ts';
import { type NewWebhook, type WebhookRow, webhookStore } from './webhook-store.ts';

export type WebhookChange = BodyOf<Operations['patchWebhook']>;

/** Changes only what is given. When nothing changes, no event or audit row is written. */
export async function updateWebhook(
  context: WebhooksContext,
  caller: Caller,
  webhookId: string,
  change: WebhookChange,
  requireMatch: (etag: string) => void,
): Promise<WebhookRow> {
  const { platform, audit } = context;
  if (change.url !== undefined) checkUrl(platform.outbound.guard, change.url);
  return platform.database.tenant(caller.organization.id, async (transaction) => {
    const row = await webhookStore.lock(transaction, caller.organization.id, webhookId);
    requireMatch(webhookEtag(row));
    if (change.events !== undefined) checkSubscriptions(row.format, change.events);
    if (change.filters !== undefined)
      await checkFilters(context, transaction, caller.organization.id, change.filters, row.filters);
    const columns = differences<NewWebhook>(row, columnsOf(context, webhookId, change));
    if (Object.keys(columns).length === 0) return row;
    const fields = Object.keys(change).filter((field) => change[field as keyof WebhookChange] !== undefined);
    const updated = await webhookStore.update(transaction, row, { ...columns, updatedAt: platform.clock.now() });
    const action = isSwitch(fields) ? (updated.enabled ? 'webhook.enabled' : 'webhook.disabled') : 'webhook.updated';
    await audit.write(transaction, auditEntry(caller, action, webhookId, { name: updated.name, fields }));
    return updated;
  });
}

function isSwitch(fields: readonly string[]): boolean {
  return fields.length === 1 && fields[0] === 'enabled';
}

function columnsOf({ secrets }: WebhooksContext, id: string, change: WebhookChange): Partial<NewWebhook> {
  const { secret, headers, timeout, ...plain } = change;
  const columns: Partial<NewWebhook> = defined(plain);
  // Enabling means that it was repaired, and disabling by a person needs no reason.
  if (plain.enabled !== undefined) columns.disabledBecause = null;
  if (timeout !== undefined) columns.timeoutMs = timeout;
  if (headers !== undefined) columns.sealedHeaders = secrets.sealHeaders(id, headers);
  if (secret !== undefined) {
    columns.sealedSecret = secrets.sealSecret(id, secret);
    // A given secret replaces the old one at once; only rotating keeps both.
    columns.sealedPreviousSecret = null;
    columns.previousSecretValidUntil = null;
    columns.sealedOlderSecrets = null;
  }
  return columns;
}
