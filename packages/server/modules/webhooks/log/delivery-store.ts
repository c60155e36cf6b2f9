import type { Transaction } from '../../../platform/database/database.ts';
import { and, asc, desc, eq, getTableColumns, gt, gte, lt, sql } from '../../../platform/database/orm.ts';
import { outboxEvents } from '../../../platform/database/tables.ts';
import { Problem } from '../../../platform/problem.ts';
import { webhookAttempts, webhookDeliveries } from '../tables.ts';

export type DeliveryRow = typeof webhookDeliveries.$inferSelect;
export type ShownDelivery = DeliveryRow & { isTest: boolean };
type AttemptRow = typeof webhookAttempts.$inferSelect;
/** What came back for an attempt. */
export type ShownAttempt = Pick<
  AttemptRow,
  'attempt' | 'sentAt' | 'statusCode' | 'durationMs' | 'error' | 'responseBody'
>;
export type SentRequest = Pick<AttemptRow, 'url' | 'sealedHeaders' | 'body'>;
export type EventRow = typeof outboxEvents.$inferSelect;

export interface DeliveryFilters {
  status?: DeliveryRow['status'] | undefined;
  eventType?: string | undefined;
}

const isTest = sql<boolean>`exists (select from outbox_events e where e.organization_id = webhook_deliveries.organization_id
  and e.id = webhook_deliveries.event_id and e.payload->>'isSample' = 'true')`;
const shownColumns = { ...getTableColumns(webhookDeliveries), isTest };

const attemptsMax = 1000;
/** Limits the shown answers of one delivery; the newest are shown, older ones are left out. */
const answersBytesMax = 4 * 1024 * 1024;

/** All SQL on the delivery log of an organization. */
export const deliveryStore = {
  async list(
    { orm }: Transaction,
    organizationId: string,
    webhookId: string,
    filters: DeliveryFilters,
    limit: number,
    before: string | undefined,
  ): Promise<ShownDelivery[]> {
    return orm
      .select(shownColumns)
      .from(webhookDeliveries)
      .where(
        and(
          eq(webhookDeliveries.organizationId, organizationId),
          eq(webhookDeliveries.webhookId, webhookId),
          filters.status ? eq(webhookDeliveries.status, filters.status) : undefined,
          filters.eventType ? eq(webhookDeliveries.eventType, filters.eventType) : undefined,
          before ? lt(webhookDeliveries.id, before) : undefined,
        ),
      )
      .orderBy(desc(webhookDeliveries.id))
      .limit(limit);
  },

  async get({ orm }: Transaction, organizationId: string, webhookId: string, id: string): Promise<DeliveryRow> {
    return found(
      (
        await orm
          .select()
          .from(webhookDeliveries)
          .where(is(organizationId, webhookId, id))
      )[0],
    );
  },

  /** Makes deliveries due at once. An attempt that is running right now counts as the requested one. */
  async makeDue(
    { orm }: Transaction,
    organizationId: string,
    webhookId: string,
    id: string,
    now: Date,
  ): Promise<ShownDelivery> {
    const [row] = await orm
      .update(webhookDeliveries)
      .set({ status: 'pending', nextAttemptAt: now, finishedAt: null })
      .where(is(organizationId, webhookId, id))
      .returning(shownColumns);
    return found(row);
  },

  /**
   * Up to `limit` deliveries that failed since then, ordered by id, starting after `after`. Samples of a test call are
   * left out.
   */
  async failedSince(
    { orm }: Transaction,
    organizationId: string,
    webhookId: string,
    since: Date,
    { after, limit }: { after: string; limit: number },
  ): Promise<string[]> {
    const rows = await orm
      .select({ id: webhookDeliveries.id })
      .from(webhookDeliveries)
      .where(
        and(
          eq(webhookDeliveries.organizationId, organizationId),
          eq(webhookDeliveries.webhookId, webhookId),
          eq(webhookDeliveries.status, 'failed'),
          gte(webhookDeliveries.finishedAt, since),
          gt(webhookDeliveries.id, after),
          sql`not ${isTest}`,
        ),
      )
      .orderBy(asc(webhookDeliveries.id))
      .limit(limit)
      .for('update');
    return rows.map(({ id }) => id);
  },

  async makeAllDue({ client }: Transaction, ids: readonly string[], now: Date): Promise<void> {
    await client.query(
      `update webhook_deliveries set status = 'pending', next_attempt_at = $2, finished_at = null where id = any($1)`,
      [ids, now],
    );
  },

  /** Deliveries that failed so far and are retried automatically. */
  async countTryingAgain({ orm }: Transaction, organizationId: string, webhookId: string): Promise<number> {
    return orm.$count(
      webhookDeliveries,
      and(
        eq(webhookDeliveries.organizationId, organizationId),
        eq(webhookDeliveries.webhookId, webhookId),
        eq(webhookDeliveries.status, 'pending'),
        gt(webhookDeliveries.attempts, 0),
      ),
    );
  },

  /** The newest attempts, in order, without the sent requests: people may have asked for hundreds. */
  async attempts({ orm }: Transaction, organizationId: string, deliveryId: string): Promise<ShownAttempt[]> {
    const { attempt, sentAt, statusCode, durationMs, error, responseBody } = webhookAttempts;
    const newer = sql`sum(octet_length(${responseBody})) over (order by ${attempt} desc rows between unbounded preceding and 1 preceding)`;
    const answer = sql<
      string | null
    >`case when coalesce(${newer}, 0) < ${sql.raw(String(answersBytesMax))} then ${responseBody} end`;
    const rows = await orm
      .select({ attempt, sentAt, statusCode, durationMs, error, responseBody: answer })
      .from(webhookAttempts)
      .where(isOf(organizationId, deliveryId))
      .orderBy(desc(attempt))
      .limit(attemptsMax);
    return rows.reverse();
  },

  /** The request that was sent last. */
  async lastSent({ orm }: Transaction, organizationId: string, deliveryId: string): Promise<SentRequest | undefined> {
    const { url, sealedHeaders, body, attempt } = webhookAttempts;
    const [row] = await orm
      .select({ url, sealedHeaders, body })
      .from(webhookAttempts)
      .where(isOf(organizationId, deliveryId))
      .orderBy(desc(attempt))
      .limit(1);
    return row;
  },

  async event({ orm }: Transaction, organizationId: string, eventId: string): Promise<EventRow | undefined> {
    const [row] = await orm
      .select()
      .from(outboxEvents)
      .where(and(eq(outboxEvents.organizationId, organizationId), eq(outboxEvents.id, eventId)));
    return row;
  },

  /** Writes a delivery that is already complete: event, delivery and its one attempt. */
  async record(
    { orm }: Transaction,
    event: typeof outboxEvents.$inferInsert,
    delivery: typeof webhookDeliveries.$inferInsert,
    attempt: typeof webhookAttempts.$inferInsert,
  ): Promise<void> {
    await orm.insert(outboxEvents).values(event);
    await orm.insert(webhookDeliveries).values(delivery);
    await orm.insert(webhookAttempts).values(attempt);
  },

  /** Removes up to `limit` old deliveries and returns how many; works across organizations. */
  async removeBefore({ client }: Transaction, cut: Date, limit: number): Promise<number> {
    const removed = await client.query(
      'delete from webhook_deliveries where id in (select id from webhook_deliveries where created_at < $1 limit $2)',
      [cut, limit],
    );
    return removed.rowCount ?? 0;
  },

  /** The same for deliveries of deleted webhooks. Skips through the index from one webhook to the next. */
  async removeOfDeletedWebhooks({ client }: Transaction, limit: number): Promise<number> {
    const removed = await client.query(
      `with recursive known (webhook_id) as (
         (select webhook_id from webhook_deliveries order by webhook_id limit 1)
         union all
         select (select d.webhook_id from webhook_deliveries d where d.webhook_id > known.webhook_id order by d.webhook_id limit 1)
           from known where known.webhook_id is not null
       ), gone as (
         select webhook_id from known k where not exists (select from webhooks w where w.id = k.webhook_id)
       )
       delete from webhook_deliveries where id in (
         select d.id from gone join webhook_deliveries d using (webhook_id) limit $1)`,
      [limit],
    );
    return removed.rowCount ?? 0;
  },

  /** The same for events. An event outlives its deliveries, because retries read it. */
  async removeEventsBefore({ client }: Transaction, cut: Date, limit: number): Promise<number> {
    const removed = await client.query(
      `delete from outbox_events where id in (
         select id from outbox_events e where created_at < $1 and dispatched_at is not null
            and not exists (select 1 from webhook_deliveries d where d.event_id = e.id) limit $2)`,
      [cut, limit],
    );
    return removed.rowCount ?? 0;
  },
};

function isOf(organizationId: string, deliveryId: string) {
  return and(eq(webhookAttempts.organizationId, organizationId), eq(webhookAttempts.deliveryId, deliveryId));
}

function is(organizationId: string, webhookId: string, id: string) {
  return and(
    eq(webhookDeliveries.organizationId, organizationId),
    eq(webhookDeliveries.webhookId, webhookId),
    eq(webhookDeliveries.id, id),
  );
}

function found<Row extends DeliveryRow>(row: Row | undefined): Row {
  if (!row) throw new Problem('DELIVERY_NOT_FOUND', 'The webhook has no such delivery.');
  return row;
}
