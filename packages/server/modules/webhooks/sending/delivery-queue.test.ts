import { afterAll, beforeAll, expect, test } from 'vitest';
import { asOwner, foundOrganization } from '../../../testing/people.ts';
import { removeOldDeliveries } from '../log/retention.ts';
import { WebhookSecrets } from '../requests/webhook-secrets.ts';
import { startWebhookHouse, type WebhookBench } from '../testing.ts';
import { DeliveryQueue, type FinishedAttempt } from './delivery-queue-store.ts';
import { Sender } from './sender.ts';

/** A service that neither dispatches nor delivers, so that only the test uses the queue. */
let house: WebhookBench;
beforeAll(async () => {
  house = await startWebhookHouse({ HOLDFAST_ROLES: 'api' });
});
afterAll(() => house.close());

const everything = { total: 1000, webhooks: new Map<string, number>(), organizations: new Map<string, number>() };
const queueOf = (owner: string) => new DeliveryQueue(house.app.platform.database, owner);
const query = (text: string, values: unknown[] = []) =>
  asOwner(house.app.databaseUrl, (client) => client.query(text, values));

async function fill(webhookId: string, count: number): Promise<void> {
  const { ids, clock } = house.app.platform;
  for (let index = 0; index < count; index++) {
    const eventId = await house.emit('backup.completed', { data: {} });
    await query(
      `insert into webhook_deliveries (id, organization_id, webhook_id, event_id, event_type, status, next_attempt_at, created_at) values ($1, $2, $3, $4, 'backup.completed', 'pending', $5, $5)`,
      [ids.next('dlv'), house.organizationId, webhookId, eventId, clock.now()],
    );
  }
}

const delivered = (id: string): FinishedAttempt => ({
  id,
  organizationId: house.organizationId,
  status: 'delivered',
  attempt: 1,
  nextAttemptAt: null,
  finishedAt: house.app.clock.now(),
  sentAt: house.app.clock.now(),
  url: 'https://localhost/',
  sealedHeaders: '',
  body: '{}',
  statusCode: 200,
  durationMs: 1,
  error: null,
  responseBody: '',
});

test('processes that claim at once never get the same delivery, and no webhook gives more than it has room for', async () => {
  const { clock } = house.app;
  const [one, two] = [await house.create('/one'), await house.create('/two')];
  await fill(one.id, 12);
  await fill(two.id, 3);
  const room = { ...everything, webhooks: new Map([[one.id, 2]]) };
  const claims = await Promise.all(['a', 'b', 'c', 'd'].map((owner) => queueOf(owner).claim(clock.now(), room)));
  const ids = claims.flat().map((delivery) => delivery.id);
  expect(new Set(ids).size).toBe(ids.length);
  for (const claim of claims)
    expect(claim.filter((delivery) => delivery.webhookId === one.id).length).toBeLessThanOrEqual(2);
  expect(claims.flat().filter((delivery) => delivery.webhookId === two.id)).toHaveLength(3);
  await query('delete from webhook_deliveries');
});

test('organizations take turns in a claim, and none gets more than its share, however many webhooks it has', async () => {
  const { app, owner, organizationId } = house;
  const neighbour = await foundOrganization(app, owner);
  const { id } = await house.create('/crowd');
  const copies = (count: number, prefix: string, organization: string) =>
    query(
      `insert into webhooks select (w).* from (select jsonb_populate_record(null::webhooks, to_jsonb(h)
         || jsonb_build_object('id', $2 || n, 'organization_id', $3::text)) as w from webhooks h cross join generate_series(1, $4) n where h.id = $1) c`,
      [id, prefix, organization, count],
    );
  await copies(100, 'whk_crowd_', organizationId);
  await copies(1, 'whk_single_', neighbour);
  await query(
    `insert into webhook_deliveries (id, organization_id, webhook_id, event_id, event_type, status, next_attempt_at, created_at)
     select 'dlv_' || w.id || n, w.organization_id, w.id, 'evt_' || n, 'backup.completed', 'pending', now() - interval '1 hour' * (w.organization_id = $1)::int, now()
       from webhooks w cross join generate_series(1, 4) n where w.id like 'whk_crowd_%' or w.id like 'whk_single_%'`,
    [organizationId],
  );
  const few = await queueOf('few').claim(app.clock.now(), { ...everything, total: 6 });
  expect(few.filter((delivery) => delivery.organizationId === neighbour)).toHaveLength(3);
  const all = await queueOf('all').claim(app.clock.now(), everything);
  expect(Map.groupBy(all, (delivery) => delivery.organizationId).get(organizationId)).toHaveLength(128);
  await query('delete from webhook_deliveries');
});

test('a dead process loses its lease, and can no longer save an outcome', async () => {
  const { clock } = house.app;
  const { id } = await house.create('/leases');
  await fill(id, 1);
  const [dead, heir] = [queueOf('dead'), queueOf('heir')];
  const [claimed] = await dead.claim(clock.now(), everything);
  expect(await heir.claim(clock.now(), everything)).toEqual([]);
  await query(`update webhook_deliveries set lease_until = now() - interval '1 second'`);
  await dead.renew([claimed?.id as string]);
  expect(await heir.claim(clock.now(), everything)).toEqual([]);
  await query(`update webhook_deliveries set lease_until = now() - interval '1 second'`);
  const [inherited] = await heir.claim(clock.now(), everything);
  expect(inherited).toMatchObject({ id: claimed?.id, attempts: 0 });
  await dead.finish([delivered(claimed?.id as string)]);
  expect((await query('select status from webhook_deliveries')).rows).toEqual([{ status: 'pending' }]);
  await heir.finish([delivered(claimed?.id as string)]);
  expect((await query('select status, attempts from webhook_deliveries')).rows).toEqual([
    { status: 'delivered', attempts: 1 },
  ]);
  await query('delete from webhook_deliveries');
});

test('a delivery that waits for its turn keeps its lease, and is released when its sender stops', {
  tags: 'long',
}, async () => {
  const { clock, platform } = house.app;
  const { id } = await house.create('/turns');
  await fill(id, 2);
  const turn = Promise.withResolvers<void>();
  const agent = platform.outbound.createAgent({ keepAliveMs: 1 });
  const sender = new Sender({
    ...{ queue: queueOf('busy'), agent, secrets: new WebhookSecrets(platform.keyring), clock, log: platform.log },
    ...{ turn: () => turn.promise, graceMs: 1000, onWritten: () => Promise.resolve() },
  });
  sender.start();
  const held = async () =>
    (await query(`select count(*)::int as n from webhook_deliveries where lease_until > now()`)).rows[0].n;
  await expect.poll(held).toBe(2);
  await query(`update webhook_deliveries set lease_until = now() - interval '1 second'`);
  await expect.poll(held).toBe(2);
  const stopped = sender.stop();
  turn.resolve();
  await stopped;
  await agent.destroy();
  expect(house.receiver.to('/turns')).toEqual([]);
  expect(await queueOf('heir').claim(clock.now(), everything)).toHaveLength(2);
  await query('delete from webhook_deliveries');
});

test('events from before an organization was deleted are sent once, and retries wait for its recovery, except those of its last event', async () => {
  const { clock } = house.app;
  const { id } = await house.create('/deleted');
  await fill(id, 3);
  const [first, second, third] = (await query('select id from webhook_deliveries order by id')).rows.map(
    (row) => row.id,
  );
  await query('update webhook_deliveries set attempts = 1 where id = any($1)', [[first, second]]);
  await query(`update webhook_deliveries set event_type = 'organization.deleted' where id = $1`, [first]);
  await query('update organizations set deleted_at = now() where id = $1', [house.organizationId]);
  const claimedIds = async (owner: string) =>
    (await queueOf(owner).claim(clock.now(), everything)).map((delivery) => delivery.id).sort();
  expect(await claimedIds('a')).toEqual([first, third]);
  await query('update organizations set deleted_at = null where id = $1', [house.organizationId]);
  expect(await claimedIds('b')).toEqual([second]);
  await query('delete from webhook_deliveries');
});

test('the log and its events are kept thirty days, and undispatched events longer', async () => {
  const { clock, platform } = house.app;
  const { id } = await house.create('/old');
  await fill(id, 3);
  await query('update outbox_events set dispatched_at = created_at');
  const run = () => removeOldDeliveries(platform.database, clock, new AbortController().signal);
  const left = async () =>
    (
      await query(
        'select (select count(*) from webhook_deliveries)::int as deliveries, (select count(*) from outbox_events)::int as events',
      )
    ).rows[0];
  await query(`update webhook_deliveries set created_at = created_at - interval '29 days'`);
  await query(`update outbox_events set created_at = created_at - interval '29 days'`);
  const before = await left();
  await run();
  expect(await left()).toEqual(before);
  await query(`update webhook_deliveries set created_at = created_at - interval '2 days'`);
  await query(`update outbox_events set created_at = created_at - interval '2 days'`);
  await query('update outbox_events set dispatched_at = null where id = (select min(id) from outbox_events)');
  await run();
  expect(await left()).toEqual({ deliveries: 0, events: 1 });
});
