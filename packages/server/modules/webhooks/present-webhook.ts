import { isReservedHeader, roleAtLeast, scopesCover } from '@holdfast/contract';
import type { OrganizationAccess, Principal } from '../../platform/principal.ts';
import { maskSecret } from './requests/signing.ts';
import type { WebhookSecrets } from './requests/webhook-secrets.ts';
import type { WebhookRow } from './webhook-store.ts';

export function webhookEtag(row: WebhookRow): string {
  return `"${row.id}-${row.version}"`;
}

const maskedValue = '********';

/** Header values may be credentials of receivers, so only those who may set them can see them. */
export function seesHeaderValues(organization: OrganizationAccess, principal: Principal): boolean {
  if (principal.kind === 'key') return scopesCover(principal.scopes, 'organization:write');
  return organization.role !== null && roleAtLeast(organization.role, 'admin');
}

/** Custom headers with their values hidden; the headers of every delivery stay as they are. */
export function withoutValues(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, isReservedHeader(name) ? value : maskedValue]),
  );
}

export function presentWebhook(row: WebhookRow, secrets: WebhookSecrets) {
  return {
    id: row.id,
    name: row.name,
    url: row.url,
    events: row.events,
    format: row.format,
    enabled: row.enabled,
    disabledBecause: row.enabled ? null : row.disabledBecause,
    headers: secrets.headers(row),
    timeout: row.timeoutMs,
    retryEnabled: row.retryEnabled,
    filters: row.filters,
    lastTriggeredAt: row.lastTriggeredAt?.toISOString() ?? null,
    failingSince: row.failingSince?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

type PresentedWebhook = ReturnType<typeof presentWebhook>;

/** The webhook as shown to people who may read but not change it. */
export function maskHeaders<Webhook extends PresentedWebhook>(webhook: Webhook): Webhook {
  return { ...webhook, headers: withoutValues(webhook.headers) };
}

export function presentWebhookWithSecret(row: WebhookRow, secrets: WebhookSecrets) {
  const secret = secrets.secret(row);
  return { ...presentWebhook(row, secrets), secret: secret === null ? null : maskSecret(secret) };
}
