import { maskSecret } from './requests/signing.ts';
import type { WebhookSecrets } from './requests/webhook-secrets.ts';
import type { WebhookRow } from './webhook-store.ts';

export function webhookEtag(row: WebhookRow): string {
  return `"${row.id}-${row.version}"`;
}

export function presentWebhook(row: WebhookRow, secrets: WebhookSecrets) {
  return {
    id: row.id,
    name: row.name,
    url: row.url,
    events: row.events,
    format: row.format,
    enabled: row.enabled,
    headers: secrets.headers(row),
    timeout: row.timeoutMs,
    retryEnabled: row.retryEnabled,
    filters: row.filters,
    lastTriggeredAt: row.lastTriggeredAt?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

export function presentWebhookWithSecret(row: WebhookRow, secrets: WebhookSecrets) {
  const secret = secrets.secret(row);
  return { ...presentWebhook(row, secrets), secret: secret === null ? null : maskSecret(secret) };
}
