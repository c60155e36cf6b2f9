import type { Transaction } from '../../../platform/database/database.ts';
import type { Platform } from '../../../platform/platform.ts';
import { type AuditLog, systemActor } from '../../audit/index.ts';
import { type WebhookRow, webhookStore } from '../webhook-store.ts';
import type { SentAttempt } from './sender.ts';

/** `lastTriggeredAt` of a busy webhook is written at most this often, unless it starts or stops failing. */
const touchEveryMs = 1000;

const isTaken = (statusCode: number | null) => statusCode !== null && statusCode >= 200 && statusCode < 300;

/** Updates webhooks after attempts: when they were last triggered, and whether their endpoint is gone for good. */
export class AfterSending {
  readonly #platform: Platform;
  readonly #audit: AuditLog;
  readonly #touched = new Map<string, { at: Date; failed: boolean }>();

  constructor(platform: Platform, audit: AuditLog) {
    this.#platform = platform;
    this.#audit = audit;
  }

  async apply(attempts: readonly SentAttempt[]): Promise<void> {
    const sent = attempts.filter((attempt) => attempt.sent);
    await this.#touch(sent);
    const gone = new Map(sent.filter(({ statusCode }) => statusCode === 410).map((hook) => [hook.webhookId, hook]));
    for (const { webhookId, organizationId } of gone.values()) await this.#disable(organizationId, webhookId);
  }

  async #touch(sent: readonly SentAttempt[]): Promise<void> {
    const due = new Map<string, { at: Date; failed: boolean }>();
    for (const { webhookId, sentAt, statusCode } of sent) {
      const failed = !isTaken(statusCode);
      const last = this.#touched.get(webhookId);
      if (last && last.failed === failed && sentAt.getTime() - last.at.getTime() < touchEveryMs) continue;
      due.set(webhookId, { at: sentAt, failed });
    }
    if (due.size === 0) return;
    const touches = [...due].map(([id, touch]) => ({ id, ...touch }));
    await this.#platform.database.system((transaction) => webhookStore.touch(transaction, touches));
    if (this.#touched.size > 10_000) this.#touched.clear();
    for (const { id, ...touch } of touches) this.#touched.set(id, touch);
  }

  async #disable(organizationId: string, id: string): Promise<void> {
    const context = { platform: this.#platform, audit: this.#audit };
    await this.#platform.database.tenant(organizationId, (transaction) =>
      disableGone(context, transaction, { organizationId, id }),
    );
  }
}

/** An endpoint that answers 410 is gone for good. */
export async function disableGone(
  { platform, audit }: { platform: Platform; audit: AuditLog },
  transaction: Transaction,
  { organizationId, id }: Pick<WebhookRow, 'organizationId' | 'id'>,
): Promise<void> {
  const row = await webhookStore.lockIfPresent(transaction, organizationId, id);
  if (!row?.enabled) return;
  const change = { enabled: false, disabledBecause: 'gone' as const, updatedAt: platform.clock.now() };
  await webhookStore.update(transaction, row, change);
  await audit.write(transaction, {
    organizationId,
    action: 'webhook.disabled',
    actor: systemActor,
    resource: { type: 'webhook', id },
    origin: null,
    details: { name: row.name, reason: 'The endpoint answered 410.' },
  });
}
