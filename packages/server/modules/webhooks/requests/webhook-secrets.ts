import type { MasterKeyring } from '../../../platform/secrets/master-keyring.ts';
import type { webhooks } from '../tables.ts';
import type { RequestFacts } from './render-request.ts';

type WebhookRow = typeof webhooks.$inferSelect;

export interface FormerSecret {
  secret: string;
  /** Until then it signs together with its successors. */
  validUntil: string;
}

/** How a webhook's secrets are stored: sealed, each bound to its row. */
export class WebhookSecrets {
  readonly #keyring: MasterKeyring;
  readonly #signers = new WeakMap<WebhookRow, RequestFacts['webhook']>();

  constructor(keyring: MasterKeyring) {
    this.#keyring = keyring;
  }

  sealSecret(webhookId: string, secret: string): string {
    return this.#keyring.seal(secret, `webhook secret ${webhookId}`);
  }

  sealHeaders(webhookId: string, headers: Record<string, string>): string {
    return this.#keyring.seal(JSON.stringify(headers), `webhook headers ${webhookId}`);
  }

  secret(row: WebhookRow): string | null {
    return row.sealedSecret === null ? null : this.#keyring.openText(row.sealedSecret, `webhook secret ${row.id}`);
  }

  /** The former secrets that still sign, the latest first. */
  formerSecrets(row: WebhookRow, now: Date): FormerSecret[] {
    const { id, sealedPreviousSecret, previousSecretValidUntil, sealedOlderSecrets } = row;
    const open = (sealed: string) => this.#keyring.openText(sealed, `webhook secret ${id}`);
    const previous =
      sealedPreviousSecret === null || previousSecretValidUntil === null
        ? []
        : [{ secret: open(sealedPreviousSecret), validUntil: previousSecretValidUntil.toISOString() }];
    const older = sealedOlderSecrets === null ? [] : (JSON.parse(open(sealedOlderSecrets)) as FormerSecret[]);
    return [...previous, ...older].filter(({ validUntil }) => validUntil > now.toISOString());
  }

  sealOlderSecrets(webhookId: string, secrets: readonly FormerSecret[]): string | null {
    return secrets.length === 0 ? null : this.sealSecret(webhookId, JSON.stringify(secrets));
  }

  headers(row: WebhookRow): Record<string, string> {
    return JSON.parse(this.#keyring.openText(row.sealedHeaders, `webhook headers ${row.id}`)) as Record<string, string>;
  }

  sealRequestHeaders(deliveryId: string, headers: Record<string, string>): string {
    return this.#keyring.seal(JSON.stringify(headers), `webhook request ${deliveryId}`);
  }

  requestHeaders(deliveryId: string, sealed: string): Record<string, string> {
    return JSON.parse(this.#keyring.openText(sealed, `webhook request ${deliveryId}`)) as Record<string, string>;
  }

  /** Everything of a webhook that a request needs. Opened once per row, however many deliveries share it. */
  signer(row: WebhookRow, now: Date): RequestFacts['webhook'] {
    const opened = this.#signers.get(row);
    if (opened) return opened;
    const signer = {
      id: row.id,
      url: row.url,
      format: row.format,
      retryEnabled: row.retryEnabled,
      headers: this.headers(row),
      secret: this.secret(row),
      formerSecrets: this.formerSecrets(row, now).map(({ secret }) => secret),
    };
    this.#signers.set(row, signer);
    return signer;
  }
}
