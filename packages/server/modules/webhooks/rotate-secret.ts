import { dayMs, daySeconds, secondMs } from '../../platform/durations.ts';
import { QuotaUsedUp } from '../../platform/problem.ts';
import { auditEntry, type Caller, type WebhooksContext } from './context.ts';
import { generateSecret } from './requests/signing.ts';
import type { FormerSecret } from './requests/webhook-secrets.ts';
import { type WebhookRow, webhookStore } from './webhook-store.ts';

const graceMs = dayMs;
/** Each one adds to the headers of every delivery. */
const formerSecretsMax = 20;

/** Gives the webhook a new secret. Each former one keeps signing for its own day, so that receivers can change over. */
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
    const former = secrets.formerSecrets(current, now);
    requireBelowLimit(former, now);
    const updated = await webhookStore.update(transaction, current, {
      sealedSecret: secrets.sealSecret(webhookId, secret),
      sealedPreviousSecret: current.sealedSecret,
      previousSecretValidUntil: hadSecret ? new Date(now.getTime() + graceMs) : null,
      sealedOlderSecrets: secrets.sealOlderSecrets(webhookId, former),
      updatedAt: now,
    });
    await audit.write(transaction, auditEntry(caller, 'webhook.secret_rotated', webhookId, { name: current.name }));
    return updated;
  });
  return { row, secret };
}

function requireBelowLimit(former: readonly FormerSecret[], now: Date): void {
  const oldest = former.at(-1);
  if (former.length < formerSecretsMax || !oldest) return;
  throw new QuotaUsedUp(
    `${former.length} former secrets of this webhook still sign. Rotate when the day of the oldest is over, or set a secret yourself, which ends all of them at once.`,
    {
      policy: 'former-secrets',
      limit: formerSecretsMax,
      windowSeconds: daySeconds,
      resetSeconds: Math.max(1, Math.ceil((Date.parse(oldest.validUntil) - now.getTime()) / secondMs)),
    },
  );
}
