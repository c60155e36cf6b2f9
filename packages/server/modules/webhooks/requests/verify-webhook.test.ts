import { standardSamples } from '@holdfast/contract';
import { verifyWebhook } from '@holdfast/contract/webhooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ReceivedRequest } from '../../../testing/webhook-receiver.ts';
import { startWebhookHouse, type WebhookBench } from '../testing.ts';

let house: WebhookBench;
let secret: string;
let webhookId: string;
beforeAll(async () => {
  house = await startWebhookHouse();
  const created = await house.create('/hook');
  webhookId = created.id;
  secret = created.secret ?? '';
});
afterAll(() => house.close());

async function delivered(count: number): Promise<ReceivedRequest> {
  await house.emit('backup.completed', { data: { ...standardSamples['backup.completed'], note: 'grüße ✓' } });
  return (await house.receiver.arrivals('/hook', count)).at(-1) as ReceivedRequest;
}

test('the function of the package returns the event of what the service sent, and of nothing else', async () => {
  const { headers, body } = await delivered(1);
  const event = await verifyWebhook({ secret, headers, body });
  expect(event).toEqual(JSON.parse(body));
  expect(event?.type).toBe('backup.completed');
  const asFetchHasThem = new Headers(headers as Record<string, string>);
  expect(await verifyWebhook({ secret, headers: asFetchHasThem, body })).toEqual(event);

  const signedAt = Number(headers['x-service-timestamp']);
  const changed: Record<string, object> = {
    'another body': { body: body.replace('Shop', 'Shoq') },
    'another secret': { secret: `${secret}x` },
    'an old timestamp': { headers: { ...headers, 'x-service-timestamp': String(signedAt - 301) } },
    'a timestamp from the future': { headers: { ...headers, 'x-service-timestamp': String(signedAt + 400) } },
    'no timestamp': { headers: { ...headers, 'x-service-timestamp': '' } },
    'no signature': { headers: { ...headers, 'x-service-signature': undefined } },
    'half a signature': {
      headers: { ...headers, 'x-service-signature': String(headers['x-service-signature']).slice(0, 40) },
    },
    'no headers': { headers: {} },
  };
  for (const [what, change] of Object.entries(changed))
    expect(await verifyWebhook({ secret, headers, body, ...change }), what).toBeUndefined();
  await expect(verifyWebhook({ secret: '', headers, body })).rejects.toThrow('is empty');
});

test('a receiver with the secret from before a rotation, or with the new one, accepts later deliveries', async () => {
  const rotated = await house.call('POST', `/webhooks/${webhookId}/rotate-secret`);
  const { headers, body } = await delivered(2);
  for (const known of [secret, rotated.body.data.secret as string])
    expect((await verifyWebhook({ secret: known, headers, body }))?.type).toBe('backup.completed');
});
