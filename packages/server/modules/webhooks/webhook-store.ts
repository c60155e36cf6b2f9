import type { Transaction } from '../../platform/database/database.ts';
import { and, eq } from '../../platform/database/orm.ts';
import { pagesOf } from '../../platform/database/pages.ts';
import { Problem } from '../../platform/problem.ts';
import { webhooks } from './tables.ts';

export type WebhookRow = typeof webhooks.$inferSelect;
export type NewWebhook = typeof webhooks.$inferInsert;

export interface Touch {
  id: string;
  at: Date;
  /** Whether the endpoint failed to accept it. */
  failed: boolean;
}

/** All SQL on the webhooks of an organization. */
export const webhookStore = {
  async insert({ orm }: Transaction, row: NewWebhook): Promise<WebhookRow> {
    return found((await orm.insert(webhooks).values(row).returning())[0]);
  },

  async count({ orm }: Transaction, organizationId: string): Promise<number> {
    return orm.$count(webhooks, eq(webhooks.organizationId, organizationId));
  },

  page: pagesOf(webhooks),

  async get(transaction: Transaction, organizationId: string, id: string): Promise<WebhookRow> {
    return found(await this.find(transaction, organizationId, id));
  },

  async find({ orm }: Transaction, organizationId: string, id: string): Promise<WebhookRow | undefined> {
    return (await orm.select().from(webhooks).where(is(organizationId, id)))[0];
  },

  async lock({ orm }: Transaction, organizationId: string, id: string): Promise<WebhookRow> {
    return found((await orm.select().from(webhooks).where(is(organizationId, id)).for('update'))[0]);
  },

  async lockIfPresent({ orm }: Transaction, organizationId: string, id: string): Promise<WebhookRow | undefined> {
    return (await orm.select().from(webhooks).where(is(organizationId, id)).for('update'))[0];
  },

  async enabledOf({ orm }: Transaction, organizationId: string): Promise<WebhookRow[]> {
    return orm
      .select()
      .from(webhooks)
      .where(and(eq(webhooks.organizationId, organizationId), eq(webhooks.enabled, true)));
  },

  async update({ orm }: Transaction, row: WebhookRow, change: Partial<NewWebhook>): Promise<WebhookRow> {
    const [updated] = await orm
      .update(webhooks)
      .set({ ...change, version: row.version + 1 })
      .where(is(row.organizationId, row.id))
      .returning();
    return found(updated);
  },

  /**
   * Saves when webhooks were last triggered and whether that failed, without a new version for If-Match. Ordered, so
   * that two processes never deadlock.
   */
  async touch({ client }: Transaction, touches: readonly Touch[]): Promise<void> {
    await client.query(
      `with touched as (
         select w.id, t.at, t.failed
           from webhooks w join unnest($1::text[], $2::timestamptz[], $3::boolean[]) as t (id, at, failed) on t.id = w.id
          order by w.id for no key update of w
       )
       update webhooks w set last_triggered_at = greatest(w.last_triggered_at, touched.at),
           failing_since = case when touched.failed then coalesce(w.failing_since, touched.at) end
         from touched where w.id = touched.id`,
      [touches.map((touch) => touch.id), touches.map((touch) => touch.at), touches.map((touch) => touch.failed)],
    );
  },

  async remove({ orm }: Transaction, organizationId: string, id: string): Promise<void> {
    await orm.delete(webhooks).where(is(organizationId, id));
  },
};

function is(organizationId: string, id: string) {
  return and(eq(webhooks.organizationId, organizationId), eq(webhooks.id, id));
}

function found(row: WebhookRow | undefined): WebhookRow {
  if (!row) throw new Problem('WEBHOOK_NOT_FOUND', 'There is no such webhook in this organization.');
  return row;
}
