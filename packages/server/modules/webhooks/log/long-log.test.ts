import { afterAll, beforeAll, expect, test } from 'vitest';
import { asOwner } from '../../../testing/people.ts';
import type { TestResponse } from '../../../testing/test-app.ts';
import { startWebhookHouse, type WebhookBench } from '../testing.ts';

/** A service that sends nothing, so that due deliveries stay due. */
let house: WebhookBench;
beforeAll(async () => {
  house = await startWebhookHouse({ HOLDFAST_ROLES: 'api,scheduler' });
});
afterAll(() => house.close());

const query = (text: string, values: unknown[]) =>
  asOwner(house.app.databaseUrl, (client) => client.query(text, values));

/** A webhook with as many failures as a long outage of its receiver causes. */
async function createWithFailures(path: string, count: number): Promise<string> {
  const { id } = await house.create(path);
  await query(
    `insert into webhook_deliveries (id, organization_id, webhook_id, event_id, event_type, status, attempts, created_at, finished_at)
     select 'dlv_' || $2 || lpad(n::text, 7, '0'), $1, $2, 'evt_' || n, 'backup.completed', 'failed', 5, now(), now()
       from generate_series(1, $3::int) n`,
    [house.organizationId, id, count],
  );
  return id;
}

const countFailed = async (webhookId: string): Promise<number> => {
  const text = `select count(*)::int as count from webhook_deliveries where webhook_id = $1 and status = 'failed'`;
  return (await query(text, [webhookId])).rows[0].count;
};

/** Runs the work while another transaction locks one delivery of the webhook, at this offset. */
const whileHeld = (webhookId: string, offset: number, work: () => Promise<void>) =>
  asOwner(house.app.databaseUrl, async (client) => {
    await client.query('begin');
    const chosen = 'select id from webhook_deliveries where webhook_id = $1 order by id offset $2 limit 1';
    await client.query(`select from webhook_deliveries where id = (${chosen}) for update`, [webhookId, offset]);
    await work();
    await client.query('rollback');
  });

test('a webhook with a long log is deleted at once, even when some of it is locked, and the log is removed afterwards', async () => {
  const id = await createWithFailures('/long', 5000);
  const other = await createWithFailures('/other', 3);
  await whileHeld(id, 4000, async () => {
    expect((await house.call('DELETE', `/webhooks/${id}`)).status).toBe(200);
  });
  expect((await house.call('GET', `/webhooks/${id}/deliveries`)).body.error.code).toBe('WEBHOOK_NOT_FOUND');
  await house.app.tasks.runNow('logs of deleted webhooks');
  expect([await countFailed(id), await countFailed(other)]).toEqual([0, 3]);
});

test('many failed deliveries are sent again in pieces, twenty thousand per call, which says that there are more', {
  tags: 'long',
}, async () => {
  const id = await createWithFailures('/many', 20_001);
  const recover = () => house.call('POST', `/webhooks/${id}/recover`, { since: new Date(0).toISOString() });
  let first: Promise<TestResponse> | undefined;
  await whileHeld(id, 8000, async () => {
    first = recover();
    await expect.poll(() => countFailed(id)).toBe(12_001);
  });
  expect((await first)?.body.data).toEqual({ recovered: 20_000, tryingAgain: 0, hasMore: true });
  expect((await recover()).body.data).toEqual({ recovered: 1, tryingAgain: 20_000, hasMore: false });
});
