import { dayMs } from '../../platform/durations.ts';
import { auditEntry, type Caller, type WebhooksContext } from './context.ts';
import { generateSecret } from './requests/signing.ts';
import { type WebhookRow, webhookStore } from './webhook-store.ts';

const graceMs = dayMs;

/** Gives the webhook a new secret; the one before signs beside it for a day, so that receivers can change over. */
export async function rotateSecret(
  { platform, secrets, audit }: WebhooksContext,
  caller: Caller,
  webhookId: string,
): Promise<{ row: WebhookRow; secret: string }> {
  const secret = generateSecret();
  const row = await platform.database.tenant(caller.organization.id, async (transaction) => {
    const current = await webhookStore.lock(transaction, caller.organization.id, webhookId);
    const now = platform.clock.now();
    const hadSecret = current.sealedSecret !== null;
    const updated = await webhookStore.update(transaction, current, {
      sealedSecret: secrets.sealSecret(webhookId, secret),
      sealedPreviousSecret: current.sealedSecret,
      previousSecretValidUntil: hadSecret ? new Date(now.getTime() + graceMs) : null,
      updatedAt: now,
    });
    await audit.write(transaction, auditEntry(caller, 'webhook.secret_rotated', webhookId, { name: current.name }));
    return updated;
  });
  return { row, secret };
}
