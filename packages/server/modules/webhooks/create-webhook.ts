import type { BodyOf, Operations } from '@holdfast/contract';
import { requireBelowLimit } from '../organizations/index.ts';
import { checkFilters, checkSubscriptions, checkUrl } from './check-settings.ts';
import { auditEntry, type Caller, type WebhooksContext } from './context.ts';
import { generateSecret } from './requests/signing.ts';
import { type WebhookRow, webhookStore } from './webhook-store.ts';

export type CreateWebhookBody = BodyOf<Operations['createWebhook']>;

/**
 * A standard webhook always signs, so one without a given secret gets a new one, shown only in this answer. Null if an
 * earlier try of the same call made it: then nobody has seen it.
 */
export async function createWebhook(
  context: WebhooksContext,
  caller: Caller,
  body: CreateWebhookBody,
): Promise<{ row: WebhookRow; generatedSecret: string | null | undefined }> {
  const { platform, secrets, audit } = context;
  checkUrl(platform.outbound.guard, body.url);
  checkSubscriptions(body.format, body.events);
  const id = platform.ids.next('whk', caller.origin.newId);
  const now = platform.clock.now();
  const generatedSecret = body.secret === undefined && body.format === 'standard' ? generateSecret() : undefined;
  const secret = body.secret ?? generatedSecret;
  return platform.database.tenant(caller.organization.id, async (transaction) => {
    const made = caller.origin.newId && (await webhookStore.find(transaction, caller.organization.id, id));
    if (made) return { row: made, generatedSecret: generatedSecret && null };
    const limit = platform.config.WEBHOOKS_PER_ORGANIZATION_MAX;
    await requireBelowLimit(transaction, caller.organization.id, {
      what: 'webhooks',
      limit,
      count: webhookStore.count,
    });
    await checkFilters(context, transaction, caller.organization.id, body.filters);
    const row = await webhookStore.insert(transaction, {
      id,
      organizationId: caller.organization.id,
      name: body.name,
      url: body.url,
      events: body.events,
      format: body.format,
      enabled: body.enabled,
      sealedSecret: secret === undefined ? null : secrets.sealSecret(id, secret),
      sealedHeaders: secrets.sealHeaders(id, body.headers),
      timeoutMs: body.timeout,
      retryEnabled: body.retryEnabled,
      filters: body.filters,
      createdAt: now,
      updatedAt: now,
    });
    const details = { name: body.name, events: body.events, format: body.format, host: new URL(body.url).host };
    await audit.write(transaction, auditEntry(caller, 'webhook.created', id, details));
    return { row, generatedSecret };
  });
}
