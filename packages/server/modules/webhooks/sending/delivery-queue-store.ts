import type { Database, Transaction } from '../../../platform/database/database.ts';
import { encodeJson } from '../../../platform/database/json.ts';
import { inArray } from '../../../platform/database/orm.ts';
import { outboxEvents } from '../../../platform/database/tables.ts';
import type { EventPayload } from '../../../platform/event-payload.ts';
import { isActiveOrganizationSql } from '../../organizations/index.ts';
import { webhooks } from '../tables.ts';
import { perOrganizationMax, perWebhookInitial } from './slots.ts';

/** A delivery whose lease this process has. */
export interface ClaimedDelivery {
  id: string;
  webhookId: string;
  organizationId: string;
  eventId: string;
  /** Attempts made so far. */
  attempts: number;
  webhook: typeof webhooks.$inferSelect;
  /** Absent when the event is no longer kept. */
  event: { id: string; type: string; createdAt: Date; payload: EventPayload } | undefined;
}

export interface FinishedAttempt {
  id: string;
  organizationId: string;
  status: 'pending' | 'delivered' | 'failed';
  /** Null when nothing was sent: then only the state of the delivery changes. */
  attempt: number | null;
  nextAttemptAt: Date | null;
  finishedAt: Date | null;
  sentAt: Date;
  url: string;
  sealedHeaders: string;
  body: string;
  statusCode: number | null;
  durationMs: number;
  error: string | null;
  responseBody: string | null;
}

/** A lease lasts this long without renewal; after a crash another process sends the delivery then. */
const leaseSeconds = 15;
export const leaseRenewalMs = 5000;

/** A pending delivery of a webhook in `room` that is due, has no lease, and may be sent for its organization. */
const isClaimable = `d.webhook_id = room.id and d.status = 'pending' and d.next_attempt_at <= $1
         and (d.lease_until is null or d.lease_until < now())
         and (room.is_active or d.attempts = 0 or d.event_type = 'organization.deleted')`;

/**
 * Skips through the index to each webhook with pending deliveries, so the cost depends on the number of such webhooks
 * and not of deliveries. Takes no more from each than it has room for. If an organization has more webhooks than room,
 * the longest waiting ones are served, and only those are locked. Organizations take turns, and none gets more than its
 * room, so a long backlog of one does not delay another. Events from before the deletion of an organization are still
 * sent; retries wait for its recovery, except those of its last event.
 */
const claimStatement = `
  with recursive busy (webhook_id) as (
    (select webhook_id from webhook_deliveries where status = 'pending' order by webhook_id limit 1)
    union all
    select (select d.webhook_id from webhook_deliveries d
             where d.status = 'pending' and d.webhook_id > busy.webhook_id order by d.webhook_id limit 1)
      from busy where busy.webhook_id is not null
  ), room as (
    select w.id, w.organization_id, ${isActiveOrganizationSql('w.organization_id')} as is_active, coalesce(own.free, ${perWebhookInitial}) as free,
           coalesce(shared.free, ${perOrganizationMax}) as free_of_organization
      from busy
      join webhooks w on w.id = busy.webhook_id
      left join unnest($3::text[], $4::int[]) as own (id, free) on own.id = w.id
      left join unnest($5::text[], $6::int[]) as shared (id, free) on shared.id = w.organization_id
     where coalesce(own.free, ${perWebhookInitial}) > 0 and coalesce(shared.free, ${perOrganizationMax}) > 0
  ), chosen as (
    select room.*, row_number() over (partition by room.organization_id order by head.next_attempt_at) as place
      from room cross join lateral (
      select d.next_attempt_at from webhook_deliveries d where ${isClaimable} order by d.next_attempt_at limit 1
    ) head
  ), due as (
    select due.id, due.next_attempt_at, room.free_of_organization,
           row_number() over (partition by room.organization_id order by due.next_attempt_at) as turn
      from chosen room cross join lateral (
      select d.id, d.next_attempt_at from webhook_deliveries d where ${isClaimable}
       order by d.next_attempt_at limit least(room.free, room.free_of_organization)
         for update skip locked
    ) due where room.place <= room.free_of_organization
  ), picked as (
    select id from due where turn <= free_of_organization order by turn, next_attempt_at limit $2
  )
  update webhook_deliveries d set lease_until = now() + interval '${leaseSeconds} seconds', lease_owner = $7
    from picked where d.id = picked.id
  returning d.id, d.webhook_id as "webhookId", d.organization_id as "organizationId", d.event_id as "eventId", d.attempts`;

const finishStatement = `
  with outcome as (
    select * from json_to_recordset($1::json) as o (id text, "organizationId" text, status text, attempt int,
      "nextAttemptAt" timestamptz, "finishedAt" timestamptz, "sentAt" timestamptz, url text, "sealedHeaders" text,
      body text, "statusCode" int, "durationMs" int, error text, "responseBody" text)
  ), changed as (
    update webhook_deliveries d set status = o.status, attempts = coalesce(o.attempt, d.attempts),
        next_attempt_at = o."nextAttemptAt", finished_at = o."finishedAt", lease_until = null, lease_owner = null,
        status_code = case when o.attempt is null then d.status_code else o."statusCode" end,
        duration_ms = case when o.attempt is null then d.duration_ms else o."durationMs" end, last_error = o.error
      from outcome o where d.id = o.id and d.lease_owner = $2
    returning d.id
  )
  insert into webhook_attempts (delivery_id, attempt, organization_id, sent_at, url, sealed_headers, body, status_code,
      duration_ms, error, response_body)
  select o.id, o.attempt, o."organizationId", o."sentAt", o.url, o."sealedHeaders", o.body, o."statusCode",
      o."durationMs", o.error, o."responseBody"
    from outcome o join changed using (id) where o.attempt is not null
  on conflict do nothing`;

/**
 * Every process asks this every second: planning the claim itself costs the database more than the rest of its work.
 */
async function isAnythingPending({ client }: Transaction): Promise<boolean> {
  const { rowCount } = await client.query(`select 1 from webhook_deliveries where status = 'pending' limit 1`);
  return rowCount !== 0;
}

export interface ClaimRoom {
  total: number;
  webhooks: ReadonlyMap<string, number>;
  organizations: ReadonlyMap<string, number>;
}

/** The deliveries table as a queue for many processes. Works across organizations. */
export class DeliveryQueue {
  readonly #database: Database;
  readonly #owner: string;

  constructor(database: Database, owner: string) {
    this.#database = database;
    this.#owner = owner;
  }

  async claim(now: Date, room: ClaimRoom): Promise<ClaimedDelivery[]> {
    return this.#database.system(async (transaction) => {
      if (!(await isAnythingPending(transaction))) return [];
      const { rows } = await transaction.client.query({
        name: 'holdfast_webhooks_claim',
        text: claimStatement,
        values: [
          now,
          room.total,
          [...room.webhooks.keys()],
          [...room.webhooks.values()],
          [...room.organizations.keys()],
          [...room.organizations.values()],
          this.#owner,
        ],
      });
      return rows.length === 0 ? [] : withFacts(transaction, rows);
    });
  }

  /** Renews the leases of running attempts. */
  async renew(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    await this.#database.system(({ client }) =>
      client.query(
        `update webhook_deliveries set lease_until = now() + interval '${leaseSeconds} seconds' where id = any($1) and lease_owner = $2`,
        [ids, this.#owner],
      ),
    );
  }

  /**
   * Saves how attempts ended. Skips those whose lease was lost: another process is responsible for that delivery now.
   */
  async finish(attempts: readonly FinishedAttempt[]): Promise<void> {
    await this.#database.system(({ client }) =>
      client.query({
        name: 'holdfast_webhooks_finish',
        text: finishStatement,
        values: [encodeJson(attempts), this.#owner],
      }),
    );
  }

  /** Releases claimed deliveries that were not sent. */
  async release(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    await this.#database.system(({ client }) =>
      client.query(
        'update webhook_deliveries set lease_until = null, lease_owner = null where id = any($1) and lease_owner = $2',
        [ids, this.#owner],
      ),
    );
  }
}

type ClaimedRow = Omit<ClaimedDelivery, 'webhook' | 'event'>;

async function withFacts({ orm }: Transaction, rows: ClaimedRow[]): Promise<ClaimedDelivery[]> {
  const webhookIds = [...new Set(rows.map((row) => row.webhookId))];
  const eventIds = [...new Set(rows.map((row) => row.eventId))];
  const hooks = await orm.select().from(webhooks).where(inArray(webhooks.id, webhookIds));
  const events = await orm.select().from(outboxEvents).where(inArray(outboxEvents.id, eventIds));
  const hookById = new Map(hooks.map((hook) => [hook.id, hook]));
  const eventById = new Map(events.map((event) => [event.id, event]));
  return rows.flatMap((row) => {
    const webhook = hookById.get(row.webhookId);
    return webhook ? [{ ...row, webhook, event: eventById.get(row.eventId) }] : [];
  });
}
