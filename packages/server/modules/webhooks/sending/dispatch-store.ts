import type { Transaction } from '../../../platform/database/database.ts';
import { encodeJson } from '../../../platform/database/json.ts';
import { and, eq, isNull } from '../../../platform/database/orm.ts';
import { outboxEvents } from '../../../platform/database/tables.ts';
import { notify } from '../../../platform/database/transaction-statements.ts';
import type { EventPayload } from '../../../platform/event-payload.ts';
import type { EventRow } from '../log/delivery-store.ts';
import type { Subscriber } from './subscription.ts';

/** Wakes the senders of all processes when there is something to send. */
export const deliveriesChannel = 'holdfast_deliveries';

export async function announceDeliveries(transaction: Transaction): Promise<void> {
  await notify(transaction, deliveriesChannel);
}

/** A waiting event, locked by the transaction that read it. */
export interface WaitingEvent {
  id: string;
  organizationId: string;
  type: string;
  payload: EventPayload;
  /** The number of enabled webhooks of its organization. */
  webhooks: number;
}

export type WaitingRow = WaitingEvent | { id: null; organizationId: string };

export interface EnabledWebhook extends Subscriber {
  id: string;
  organizationId: string;
}

export interface NewDelivery {
  id: string;
  organizationId: string;
  webhookId: string;
  eventId: string;
  eventType: string;
  now: Date;
}

export interface PieceLimits {
  events: number;
  organizations: number;
  eventsPerOrganization: number;
  /** Events of one organization times its webhooks. */
  pairsPerOrganization: number;
}

const columns = 'e.id, e.type, e.payload';
const isWaiting = 'e.dispatched_at is null and (e.set_aside_until is null or e.set_aside_until <= $1)';

/**
 * Skips through the index to each organization with waiting events and takes the oldest few of each, so a long backlog
 * of one does not slow down others. Other processes skip the rows that this one has locked.
 */
const waitingStatement = `
  with recursive waiting (organization_id) as (
    (select organization_id from outbox_events where dispatched_at is null and organization_id > $2
      order by organization_id limit 1)
    union all
    select (select e.organization_id from outbox_events e
             where e.dispatched_at is null and e.organization_id > waiting.organization_id
             order by e.organization_id limit 1)
      from waiting where waiting.organization_id is not null
  ), share as (
    select organization_id,
           (select count(*)::int from webhooks w where w.organization_id = waiting.organization_id and w.enabled) as webhooks
      from waiting where organization_id is not null limit $3
  )
  select e.*, share.organization_id as "organizationId", share.webhooks from share left join lateral (
    select ${columns} from outbox_events e
     where e.organization_id = share.organization_id and ${isWaiting}
     order by e.position limit least($4, greatest(1, $5 / greatest(share.webhooks, 1)))
       for update skip locked
  ) e on true limit $6`;

const insertStatement = `
  insert into webhook_deliveries (id, organization_id, webhook_id, event_id, event_type, status, next_attempt_at, created_at)
  select id, "organizationId", "webhookId", "eventId", "eventType", 'pending', now, now
    from json_to_recordset($1::json) as d (id text, "organizationId" text, "webhookId" text, "eventId" text, "eventType" text, now timestamptz)
  on conflict do nothing`;

/** Every process asks this every second: planning the next statement costs the database more. */
async function isAnyWaiting(client: Transaction['client'], after: string): Promise<boolean> {
  const { rowCount } = await client.query(
    'select 1 from outbox_events where dispatched_at is null and organization_id > $1 limit 1',
    [after],
  );
  return rowCount !== 0;
}

/** All SQL between an event and its deliveries. Works across organizations. */
export const dispatchStore = {
  /**
   * Waiting events by organization, only organizations after `after`, oldest first. An organization whose events are
   * all set aside or locked appears without events.
   */
  async waiting({ client }: Transaction, now: Date, after: string, limits: PieceLimits): Promise<WaitingRow[]> {
    if (!(await isAnyWaiting(client, after))) return [];
    const { organizations, eventsPerOrganization, pairsPerOrganization, events } = limits;
    const { rows } = await client.query<WaitingRow>({
      name: 'holdfast_webhooks_waiting',
      text: waitingStatement,
      values: [now, after, organizations, eventsPerOrganization, pairsPerOrganization, events],
    });
    return rows;
  },

  async one({ client }: Transaction, now: Date, eventId: string): Promise<Omit<WaitingEvent, 'webhooks'> | undefined> {
    const { rows } = await client.query(
      `select ${columns}, e.organization_id as "organizationId" from outbox_events e where ${isWaiting} and e.id = $2 for update skip locked`,
      [now, eventId],
    );
    return rows[0];
  },

  /** One page of enabled webhooks, in the order of their ids. */
  async webhooks(
    { client }: Transaction,
    organizationIds: readonly string[],
    after: string,
    limit: number,
  ): Promise<EnabledWebhook[]> {
    const { rows } = await client.query<EnabledWebhook>(
      `select id, organization_id as "organizationId", events, format, filters from webhooks
        where organization_id = any($1) and enabled and id > $2 order by id limit $3`,
      [organizationIds, after, limit],
    );
    return rows;
  },

  async insert(transaction: Transaction, deliveries: readonly NewDelivery[]): Promise<void> {
    await transaction.client.query(insertStatement, [encodeJson(deliveries)]);
    await announceDeliveries(transaction);
  },

  async markDispatched({ client }: Transaction, eventIds: readonly string[], now: Date): Promise<void> {
    await client.query('update outbox_events set dispatched_at = $2 where id = any($1)', [eventIds, now]);
  },

  async setAside({ client }: Transaction, eventId: string, until: Date): Promise<void> {
    await client.query('update outbox_events set set_aside_until = $2 where id = $1', [eventId, until]);
  },

  /** The event about the end of the organization, if it has not been dispatched. */
  async finalEvent({ orm }: Transaction, organizationId: string): Promise<EventRow | undefined> {
    const [event] = await orm
      .select()
      .from(outboxEvents)
      .where(
        and(
          eq(outboxEvents.organizationId, organizationId),
          isNull(outboxEvents.dispatchedAt),
          eq(outboxEvents.type, 'organization.deleted'),
        ),
      );
    return event;
  },
};
