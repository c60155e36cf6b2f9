import type { Platform } from '../../../platform/platform.ts';
import { type AuditLog, systemActor } from '../../audit/index.ts';
import { webhookStore } from '../webhook-store.ts';
import type { SentAttempt } from './sender.ts';

/** `lastTriggeredAt` of a busy webhook is written at most once in this time. */
const touchEveryMs = 1000;

/** What follows from attempts for their webhooks: when they were last triggered, and whether they are gone for good. */
export class AfterSending {
  readonly #platform: Platform;
  readonly #audit: AuditLog;
  readonly #touchedMs = new Map<string, number>();

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
    const due = new Map<string, Date>();
    for (const { webhookId, sentAt } of sent) {
      const lastMs = this.#touchedMs.get(webhookId) ?? 0;
      if (sentAt.getTime() - lastMs < touchEveryMs) continue;
      due.set(webhookId, sentAt);
    }
    if (due.size === 0) return;
    const touches = [...due].map(([id, at]) => ({ id, at }));
    await this.#platform.database.system((transaction) => webhookStore.touch(transaction, touches));
    if (this.#touchedMs.size > 10_000) this.#touchedMs.clear();
    for (const { id, at } of touches) this.#touchedMs.set(id, at.getTime());
  }

  /** An endpoint that answers 410 says that it will never come back. */
  async #disable(organizationId: string, webhookId: string): Promise<void> {
    const { database, clock } = this.#platform;
    await database.tenant(organizationId, async (transaction) => {
      const row = await webhookStore.lockIfPresent(transaction, organizationId, webhookId);
      if (!row?.enabled) return;
      await webhookStore.update(transaction, row, { enabled: false, updatedAt: clock.now() });
      await this.#audit.write(transaction, {
        organizationId,
        action: 'webhook.disabled',
        actor: systemActor,
        resource: { type: 'webhook', id: webhookId },
        origin: null,
        details: { name: row.name, reason: 'The endpoint answered 410.' },
      });
    });
  }
}
