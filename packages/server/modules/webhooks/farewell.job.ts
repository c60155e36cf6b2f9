import { and, eq, isNull } from 'drizzle-orm';
import { z } from 'zod';
import type { Transaction } from '../../platform/database/database.ts';
import { outboxEvents } from '../../platform/database/tables.ts';
import type { EventPayload } from '../../platform/outbox.ts';
import type { Platform } from '../../platform/platform.ts';
import { defineJob, type JobHandler } from '../../platform/queue.ts';
import { post } from './post.ts';
import { type RequestFacts, renderRequest } from './render-request.ts';
import { automaticAttempts } from './retry-policy.ts';
import { wants } from './subscription.ts';
import { webhooks } from './tables.ts';
import { WebhookSecrets } from './webhook-secrets.ts';

/**
 * The last word of an organization that is purged: its webhooks and its log go in the same transaction, so what is
 * still to be sent is sealed into a job of its own, which holds everything that the request needs.
 */
export const farewellJob = defineJob({
  name: 'webhook-farewell',
  schema: z.object({ sealed: z.string() }),
  retryLimit: 4,
  retryDelaySeconds: 60,
  timeoutSeconds: 90,
});

const purpose = 'webhook farewell';

interface Farewell {
  event: { id: string; type: string; createdAt: string; payload: EventPayload };
  webhook: RequestFacts['webhook'];
  deliveryId: string;
  timeoutMs: number;
}

/** Hands an event that tells of the purge itself to the webhooks that are about to go. Runs in the purging transaction. */
export function sayFarewell({ keyring, clock, ids, queue }: Platform) {
  const secrets = new WebhookSecrets(keyring);
  return async (transaction: Transaction, organizationId: string): Promise<void> => {
    const { orm } = transaction;
    const ofOrganization = and(eq(outboxEvents.organizationId, organizationId), isNull(outboxEvents.dispatchedAt));
    const [event] = await orm
      .select()
      .from(outboxEvents)
      .where(and(ofOrganization, eq(outboxEvents.type, 'organization.deleted')));
    if (!event) return;
    const mine = and(eq(webhooks.organizationId, organizationId), eq(webhooks.enabled, true));
    for (const row of await orm.select().from(webhooks).where(mine)) {
      if (!wants(row, event.type, event.payload)) continue;
      const { id, type, createdAt, payload } = event;
      const farewell: Farewell = {
        event: { id, type, createdAt: createdAt.toISOString(), payload },
        webhook: secrets.signer(row, clock.now()),
        deliveryId: ids.next('dlv'),
        timeoutMs: row.timeoutMs,
      };
      await queue.enqueue(transaction, farewellJob, { sealed: keyring.seal(JSON.stringify(farewell), purpose) });
    }
  };
}

export function farewellHandler({ keyring, clock, outbound }: Platform): JobHandler<{ sealed: string }> {
  return async ({ data, attempt, signal }) => {
    const farewell = JSON.parse(keyring.openText(data.sealed, purpose)) as Farewell;
    const event = { ...farewell.event, createdAt: new Date(farewell.event.createdAt) };
    const rendered = renderRequest({ ...farewell, event, attempt, now: clock.now() });
    const agent = outbound.createAgent({ keepAliveMs: 1 });
    try {
      const outcome = await post(agent, rendered, farewell.timeoutMs, signal);
      if (!outcome.success && attempt < automaticAttempts(farewell.webhook)) throw new Error(outcome.error ?? 'failed');
    } finally {
      await agent.destroy();
    }
  };
}
