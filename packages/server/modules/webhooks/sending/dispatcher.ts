import { setTimeout as pause } from 'node:timers/promises';
import { and, asc, eq, inArray, isNull } from 'drizzle-orm';
import type { Clock } from '../../../platform/clock.ts';
import type { Database, Transaction } from '../../../platform/database/database.ts';
import { outboxEvents } from '../../../platform/database/tables.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { Logger } from '../../../platform/log.ts';
import { Wake } from '../../../platform/wake.ts';
import { webhooks } from '../tables.ts';
import { wants } from './subscription.ts';

/** Wakes the senders of all processes as soon as there is something to send. */
export const deliveriesChannel = 'holdfast_deliveries';

/** Events turned into deliveries in one transaction. */
const batchSize = 500;
/** Events that come one by one are gathered for a moment. */
const gatherMs = 15;
const pollMs = 1000;
const troubleMs = 1000;

const insertStatement = `
  insert into webhook_deliveries (id, organization_id, webhook_id, event_id, event_type, status, next_attempt_at, created_at)
  select id, "organizationId", "webhookId", "eventId", "eventType", 'pending', now, now
    from json_to_recordset($1::json) as d (id text, "organizationId" text, "webhookId" text, "eventId" text, "eventType" text, now timestamptz)
  on conflict do nothing`;

export interface DispatcherOptions {
  database: Database;
  clock: Clock;
  ids: Ids;
  log: Logger;
  /** Called after deliveries were committed. */
  onDeliveries: () => void;
}

/** Turns events into deliveries: one per event and webhook that wants it, in the transaction that marks the event as dispatched. */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #wake = new Wake();
  #stopped = false;
  #running: Promise<void> = Promise.resolve();

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running = this.#run();
  }

  wake(): void {
    this.#wake.wake();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wake.wake();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      try {
        while (!this.#stopped && (await this.#dispatchBatch()) === batchSize);
        if (this.#stopped) return;
        await this.#wake.sleep(pollMs);
        await pause(gatherMs);
      } catch (error) {
        this.#options.log.warn({ err: error }, 'events could not be dispatched; trying again');
        await this.#wake.sleep(troubleMs);
      }
    }
  }

  /** How many events were dispatched. Other processes skip what this one holds. */
  async #dispatchBatch(): Promise<number> {
    return this.#options.database.system(async (transaction) => {
      const { orm } = transaction;
      const events = await orm
        .select()
        .from(outboxEvents)
        .where(isNull(outboxEvents.dispatchedAt))
        .orderBy(asc(outboxEvents.position))
        .limit(batchSize)
        .for('update', { skipLocked: true });
      if (events.length === 0) return 0;
      const now = this.#options.clock.now();
      await this.#insertDeliveries(transaction, events, now);
      const ids = events.map((event) => event.id);
      await orm.update(outboxEvents).set({ dispatchedAt: now }).where(inArray(outboxEvents.id, ids));
      return events.length;
    });
  }

  async #insertDeliveries(
    transaction: Transaction,
    events: readonly (typeof outboxEvents.$inferSelect)[],
    now: Date,
  ): Promise<void> {
    const organizationIds = [...new Set(events.map((event) => event.organizationId))];
    const enabled = await transaction.orm
      .select()
      .from(webhooks)
      .where(and(inArray(webhooks.organizationId, organizationIds), eq(webhooks.enabled, true)));
    const byOrganization = Map.groupBy(enabled, (webhook) => webhook.organizationId);
    const rows = events.flatMap((event) =>
      (byOrganization.get(event.organizationId) ?? [])
        .filter((webhook) => wants(webhook, event.type, event.payload))
        .map((webhook) => this.#delivery(event, webhook.id, now)),
    );
    if (rows.length === 0) return;
    await transaction.client.query(insertStatement, [JSON.stringify(rows)]);
    await transaction.client.query(`notify ${deliveriesChannel}`);
    transaction.onCommit(this.#options.onDeliveries);
  }

  #delivery(event: typeof outboxEvents.$inferSelect, webhookId: string, now: Date) {
    return {
      id: this.#options.ids.next('dlv'),
      organizationId: event.organizationId,
      webhookId,
      eventId: event.id,
      eventType: event.type,
      now,
    };
  }
}
