import { z } from 'zod';
import type { Transaction } from '../../../platform/database/database.ts';
import type { EventPayload } from '../../../platform/event-payload.ts';
import type { Platform } from '../../../platform/platform.ts';
import { defineJob, type JobHandler } from '../../../platform/queue.ts';
import { type RequestFacts, renderRequest } from '../requests/render-request.ts';
import { WebhookSecrets } from '../requests/webhook-secrets.ts';
import { webhookStore } from '../webhook-store.ts';
import { dispatchStore } from './dispatch-store.ts';
import { post } from './post.ts';
import { automaticAttempts } from './retry-policy.ts';
import { wants } from './subscription.ts';

const purpose = 'webhook final event';

/**
 * The last event of an organization that is purged. Its webhooks and its log are removed in the same transaction, so
 * the requests are sealed into a separate job, which contains everything that they need.
 */
export const finalEventJob = defineJob({
  name: 'webhook-final-event',
  schema: z.object({ sealed: z.string() }),
  retryLimit: 4,
  retryDelaySeconds: 60,
  timeoutSeconds: 90,
  reseal: ({ sealed }: { sealed: string }, keyring) => ({ sealed: keyring.reseal(sealed, purpose) }),
});

interface FinalEvent {
  event: { id: string; type: string; createdAt: string; payload: EventPayload };
  webhook: RequestFacts['webhook'];
  deliveryId: string;
  timeoutMs: number;
}

/** Passes the event about the purge to the webhooks that are about to be removed. Runs in the purging transaction. */
export function sendFinalEvents({ keyring, clock, ids, queue }: Platform) {
  const secrets = new WebhookSecrets(keyring);
  return async (transaction: Transaction, organizationId: string): Promise<void> => {
    const event = await dispatchStore.finalEvent(transaction, organizationId);
    if (!event) return;
    for (const row of await webhookStore.enabledOf(transaction, organizationId)) {
      if (!wants(row, event.type, event.payload)) continue;
      const { id, type, createdAt, payload } = event;
      const finalEvent: FinalEvent = {
        event: { id, type, createdAt: createdAt.toISOString(), payload },
        webhook: secrets.signer(row, clock.now()),
        deliveryId: ids.next('dlv'),
        timeoutMs: row.timeoutMs,
      };
      await queue.enqueue(transaction, finalEventJob, { sealed: keyring.seal(JSON.stringify(finalEvent), purpose) });
    }
  };
}

export function finalEventHandler({ keyring, clock, outbound }: Platform): JobHandler<{ sealed: string }> {
  return async ({ data, attempt, signal }) => {
    const finalEvent = JSON.parse(keyring.openText(data.sealed, purpose)) as FinalEvent;
    const event = { ...finalEvent.event, createdAt: new Date(finalEvent.event.createdAt) };
    const rendered = renderRequest({ ...finalEvent, event, attempt, now: clock.now() });
    const agent = outbound.createAgent({ keepAliveMs: 1 });
    try {
      const outcome = await post(agent, rendered, finalEvent.timeoutMs, signal);
      if (!outcome.success && attempt < automaticAttempts(finalEvent.webhook))
        throw new Error(outcome.error ?? 'failed');
    } finally {
      await agent.destroy();
    }
  };
}
