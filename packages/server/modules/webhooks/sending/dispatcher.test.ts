import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { minuteMs } from '../../../platform/durations.ts';
import { asOwner, foundOrganization } from '../../../testing/people.ts';
import { startWebhookHouse, type WebhookBench } from '../testing.ts';
import { Dispatcher } from './dispatcher.ts';

/** A service that dispatches nothing by itself, so that the test runs the rounds. */
let house: WebhookBench;
let dispatcher: Dispatcher;
let neighbour: string;
beforeAll(async () => {
  house = await startWebhookHouse({ HOLDFAST_ROLES: 'api' });
  const { database, clock, ids, log } = house.app.platform;
  dispatcher = new Dispatcher({ database, clock, ids, log, onDeliveries: () => undefined });
  neighbour = await foundOrganization(house.app, house.owner);
  await house.create('/hook');
  await query(
    `insert into webhooks select (w).* from (select jsonb_populate_record(null::webhooks,
    to_jsonb(h) || jsonb_build_object('id', 'whk_neighbour', 'organization_id', $1::text)) as w from webhooks h) c`,
    [neighbour],
  );
});
afterAll(() => house.close());
beforeEach(async () => {
  await query('delete from outbox_events');
  await query('delete from webhook_deliveries');
});

const query = (text: string, values: unknown[] = []) =>
  asOwner(house.app.databaseUrl, (client) => client.query(text, values));

/** Adds copies of the first webhook while the work runs. */
async function withWebhooks(count: number, work: () => Promise<void>): Promise<void> {
  await query(
    `insert into webhooks select (w).* from (select jsonb_populate_record(null::webhooks,
       to_jsonb(h) || jsonb_build_object('id', 'whk_more_' || n)) as w
       from webhooks h cross join generate_series(2, $2) n where h.organization_id = $1) c`,
    [house.organizationId, count],
  );
  await work();
  await query(`delete from webhooks where id like 'whk_more_%'`);
}

/** Writes events of an organization with one statement. */
async function happen(organizationId: string, count: number, payload = '{"data":{}}'): Promise<void> {
  await query(
    `insert into outbox_events (id, organization_id, type, payload, created_at)
     select 'evt_' || gen_random_uuid(), $1, 'backup.completed', $3, now() from generate_series(1, $2)`,
    [organizationId, count, payload],
  );
}

async function waiting(organizationId: string): Promise<number> {
  const text = 'select count(*)::int as count from outbox_events where organization_id = $1 and dispatched_at is null';
  return (await query(text, [organizationId])).rows[0].count;
}

test('many events for many webhooks become deliveries in small transactions, each of them once', async () => {
  const [webhooks, events] = [200, 25];
  await withWebhooks(webhooks, async () => {
    await happen(house.organizationId, events);
    while (await dispatcher.dispatchRound());
    const { rows } = await query('select count(*)::int as count from webhook_deliveries group by xmin::text');
    const sizes = rows.map(({ count }: { count: number }) => count);
    expect(sizes.reduce((sum: number, size: number) => sum + size, 0)).toBe(webhooks * events);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1000);
  });
});

test('an event with more webhooks than fit on a page reaches all of them', async () => {
  await withWebhooks(1003, async () => {
    await happen(house.organizationId, 1);
    expect(await dispatcher.dispatchRound()).toBe(true);
    const { rows } = await query('select count(distinct webhook_id)::int as count from webhook_deliveries');
    expect(rows).toEqual([{ count: 1003 }]);
  });
});

test('a long backlog of one organization does not delay the event of another', async () => {
  await happen(house.organizationId, 3000);
  await happen(neighbour, 1);
  expect(await dispatcher.dispatchRound()).toBe(true);
  expect(await waiting(neighbour)).toBe(0);
  expect(await waiting(house.organizationId)).toBeGreaterThan(2000);
  while (await dispatcher.dispatchRound());
  expect(await waiting(house.organizationId)).toBe(0);
});

test('an event that cannot be dispatched is set aside, logged and retried later, and those around it go on', async () => {
  await happen(house.organizationId, 2);
  await happen(house.organizationId, 1, 'null');
  await happen(house.organizationId, 2);
  await happen(neighbour, 1);
  while (await dispatcher.dispatchRound());
  expect([await waiting(house.organizationId), await waiting(neighbour)]).toEqual([1, 0]);
  expect(house.app.logged()).toContain('an event could not be dispatched and is set aside');
  await happen(house.organizationId, 1);
  expect(await dispatcher.dispatchRound()).toBe(false);
  expect(await waiting(house.organizationId)).toBe(1);
  await query(`update outbox_events set payload = '{"data":{}}' where dispatched_at is null`);
  house.app.clock.advance(6 * minuteMs);
  while (await dispatcher.dispatchRound());
  expect(await waiting(house.organizationId)).toBe(0);
});
