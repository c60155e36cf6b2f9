import { afterAll, beforeAll, expect, test } from 'vitest';
import { asOwner, join, signUp } from '../../testing/people.ts';
import { completed, startWebhookHouse, type WebhookBench } from './testing.ts';

let house: WebhookBench;
beforeAll(async () => {
  house = await startWebhookHouse({ WEBHOOKS_PER_ORGANIZATION_MAX: '50' });
});
afterAll(() => house.close());

test('values of custom headers are shown to people who may set them, and masked for others: alone, in the list, in a raw request', async () => {
  const { app, organizationId } = house;
  const { id } = await house.create('/masked', { headers: { 'X-Api-Key': 'the-credential-of-a-receiver' } });
  await house.emit('backup.completed', completed);
  const [delivery] = await house.deliveries(id, (list) => list.some(({ status }) => status === 'delivered'));
  const paths = ['/webhooks', `/webhooks/${id}`, `/webhooks/${id}/deliveries/${delivery?.id}/request`];
  const read = async (token: string) =>
    Promise.all(paths.map((path) => app.request('GET', `/api/v1${path}`, { token, organizationId })));
  const [member, admin] = [await signUp(app, 'low@acme.test'), await signUp(app, 'high@acme.test')];
  await join(app, organizationId, member, 'member');
  await join(app, organizationId, admin, 'admin');
  for (const token of [member.token, await keyOf(['organization:read'])]) {
    for (const { status, text } of await read(token)) {
      expect([status, text.includes('X-Api-Key'), text.includes('the-credential')]).toEqual([200, true, false]);
    }
  }
  expect((await read(member.token))[2]?.body.data.headers).toMatchObject({
    'X-Api-Key': '********',
    'Content-Type': 'application/json',
    'webhook-id': delivery?.id,
  });
  for (const token of [admin.token, await keyOf(['organization:write'])])
    for (const { text } of await read(token)) expect(text).toContain('the-credential-of-a-receiver');
});

test('a delivery with more than a thousand attempts shows the last request and the newest answers', async () => {
  const { id } = await house.create('/often');
  await house.emit('backup.completed', completed);
  const [delivery] = await house.deliveries(id, (list) => list.some(({ status }) => status === 'delivered'));
  const sent = 1100;
  await asOwner(house.app.databaseUrl, (client) =>
    client.query(
      `insert into webhook_attempts (delivery_id, attempt, organization_id, sent_at, url, sealed_headers, body, status_code,
         duration_ms, response_body)
       select delivery_id, n, organization_id, sent_at, url, sealed_headers, n || repeat('b', 60000), 500, 1, n || repeat('a', 16000)
         from webhook_attempts, generate_series(2, $2::int) n where delivery_id = $1`,
      [delivery?.id, sent],
    ),
  );
  const { text, body } = await house.call('GET', `/webhooks/${id}/deliveries/${delivery?.id}/request`);
  expect(text.length).toBeLessThan(6 * 1024 * 1024);
  expect(body.data.body).toMatch(new RegExp(`^${sent}b+$`));
  const { attempts } = body.data;
  expect([attempts.length, attempts.at(-1).attempt, attempts.at(-1).responseBody.length]).toEqual([1000, sent, 16_004]);
  expect([attempts[0].attempt, attempts[0].responseBody]).toEqual([101, null]);
});

async function keyOf(permissions: readonly string[]): Promise<string> {
  await house.call('DELETE', '/organizations/current/service-account');
  const made = await house.call('POST', '/organizations/current/service-account', { name: 'key', permissions });
  return made.body.data.apiKey;
}

test('an organization has at most sixteen open test calls, and further ones are told to wait', async () => {
  const { receiver } = house;
  const { id } = await house.create('/slow-tests');
  const slow = Promise.withResolvers<void>();
  receiver.answer('/slow-tests', (_request, response) => void slow.promise.then(() => response.writeHead(200).end()));
  const ask = () => house.call('POST', `/webhooks/${id}/test`);
  const calls = Array.from({ length: 20 }, ask);
  await receiver.arrivals('/slow-tests', 16);
  const refused = await ask();
  expect([refused.status, refused.body.error.code, refused.headers.get('retry-after')]).toEqual([
    ...[429, 'RATE_LIMITED', '1'],
  ]);
  slow.resolve();
  const statuses = (await Promise.all(calls)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(16);
  expect((await ask()).status).toBe(200);
});

test('an organization has at most fifty webhooks, also with concurrent requests', async () => {
  const ask = () => house.call('POST', '/webhooks', { name: 'x', url: 'https://example.com/x', events: ['*'] });
  const before = (await house.call('GET', '/webhooks?limit=200')).body.data.length;
  const answers = await Promise.all(Array.from({ length: 54 }, ask));
  expect(before + answers.filter(({ status }) => status === 201).length).toBe(50);
  expect((await ask()).body.error).toMatchObject({ code: 'LIMIT_REACHED', details: { limit: 50 } });
  await house.call('DELETE', `/webhooks/${answers.find(({ status }) => status === 201)?.body.data.id}`);
  expect((await ask()).status).toBe(201);
});
