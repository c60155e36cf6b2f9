import { createHmac } from 'node:crypto';
import { standardEnvelope, standardSamples } from '@holdfast/contract';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freshToken } from '../../../testing/sessions.ts';
import type { ReceivedRequest } from '../../../testing/webhook-receiver.ts';
import { completed, failed, freshPath, only, startWebhookHouse, type WebhookBench } from '../testing.ts';

let house: WebhookBench;
beforeAll(async () => {
  house = await startWebhookHouse();
});
afterAll(() => house.close());

describe('the standard format', () => {
  test('envelope, headers and signature are what the interface says', async () => {
    const path = freshPath();
    const { id, secret = '' } = await house.create(path, {
      events: ['backup.completed'],
      headers: { 'X-Team': 'ops' },
    });
    const eventId = await house.emit('backup.completed', completed);
    const request = only(await house.receiver.arrivals(path, 1));
    const delivery = only(await house.deliveries(id, ([first]) => first?.status === 'delivered'));
    const body = JSON.parse(request.body);
    expect(Object.keys(body)).toEqual(['id', 'type', 'timestamp', 'data', 'metadata']);
    expect(standardEnvelope.parse(body)).toMatchObject({ id: eventId, type: 'backup.completed', data: completed.data });
    expect(body.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(body.metadata).toEqual({ trigger: 'scheduled', scheduleId: 'sch_1', attempt: 1, deliveryId: delivery.id });
    expect(JSON.stringify(body.data)).toBe(JSON.stringify(completed.data));
    expect(request.method).toBe('POST');
    expect(request.headers['content-type']).toBe('application/json');
    expect(request.headers['x-team']).toBe('ops');
    expect(request.headers['x-service-delivery-id']).toBe(delivery.id);
    const timestamp = request.headers['x-service-timestamp'] as string;
    expect(timestamp).toMatch(/^\d{10}$/);
    expect(Math.abs(Number(timestamp) - Date.now() / 1000)).toBeLessThan(60);
    const hex = createHmac('sha256', secret).update(`${timestamp}.${request.body}`).digest('hex');
    expect(request.headers['x-service-signature']).toBe(`sha256=${hex}`);
    expect(request.headers).not.toHaveProperty('x-service-signature-previous');
    expect(request.rawHeaders).toContain('X-Service-Signature');
    expect(Object.keys(request.headers).filter((name) => name.startsWith('x-webhook'))).toEqual([]);
    expect((await house.call('GET', `/webhooks/${id}`)).body.data.lastTriggeredAt).not.toBeNull();
  });

  test.each([
    ['a generated secret', undefined],
    ['a given secret in their form', `whsec_${Buffer.alloc(24, 3).toString('base64')}`],
  ])('the Standard Webhooks library verifies it, with %s', async (_name, given) => {
    const path = freshPath();
    const { id, secret } = await house.create(path, {
      events: ['backup.completed'],
      ...(given ? { secret: given } : {}),
    });
    await house.emit('backup.completed', completed);
    const request = only(await house.receiver.arrivals(path, 1));
    const verifier = new Webhook(given ?? secret ?? '');
    expect(verifier.verify(request.body, request.headers as Record<string, string>)).toMatchObject({
      type: 'backup.completed',
    });
    expect(() => verifier.verify(`${request.body} `, request.headers as Record<string, string>)).toThrow();
    expect(request.headers['webhook-id']).toBe(only(await house.deliveries(id)).id);
  });

  test('a secret in any other form signs with its UTF-8 bytes as the key', async () => {
    const path = freshPath();
    const secret = 'pässword ✓ 1';
    await house.create(path, { events: ['backup.completed'], secret });
    await house.emit('backup.completed', completed);
    const request = only(await house.receiver.arrivals(path, 1));
    const verifier = new Webhook(Buffer.from(secret, 'utf8').toString('base64'));
    expect(verifier.verify(request.body, request.headers as Record<string, string>)).toMatchObject({
      type: 'backup.completed',
    });
    const timestamp = request.headers['x-service-timestamp'];
    const hex = createHmac('sha256', Buffer.from(secret, 'utf8')).update(`${timestamp}.${request.body}`).digest('hex');
    expect(request.headers['x-service-signature']).toBe(`sha256=${hex}`);
  });

  test('for a day after a rotation both secrets verify, then only the new one', async () => {
    const path = freshPath();
    const { id, secret: old = '' } = await house.create(path, { events: ['backup.completed'] });
    const fresh = (await house.call('POST', `/webhooks/${id}/rotate-secret`)).body.data.secret as string;
    await house.emit('backup.completed', completed);
    const during = only(await house.receiver.arrivals(path, 1));
    const headers = during.headers as Record<string, string>;
    for (const secret of [old, fresh]) expect(new Webhook(secret).verify(during.body, headers)).toBeTruthy();
    const sign = (secret: string) =>
      `sha256=${createHmac('sha256', secret).update(`${headers['x-service-timestamp']}.${during.body}`).digest('hex')}`;
    expect(headers['x-service-signature']).toBe(sign(fresh));
    expect(headers['x-service-signature-previous']).toBe(sign(old));
    await house.call('PATCH', `/webhooks/${id}`, { secret: 'set by hand' });
    await house.emit('backup.completed', completed);
    const after = (await house.receiver.arrivals(path, 2))[1];
    expect(after?.headers['webhook-signature']?.toString().split(' ')).toHaveLength(1);
    expect(after?.headers).not.toHaveProperty('x-service-signature-previous');
  });

  test('the simple format signs with both secrets for that day too', async () => {
    const path = freshPath();
    const old = 'the one before';
    const { id } = await house.create(path, { format: 'simple', secret: old, events: ['backup.completed'] });
    const fresh = (await house.call('POST', `/webhooks/${id}/rotate-secret`)).body.data.secret as string;
    await house.emit('backup.completed', completed);
    const { headers, body } = only(await house.receiver.arrivals(path, 1));
    const sign = (secret: string) => `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
    expect(headers['x-webhook-signature']).toBe(sign(fresh));
    expect(headers['x-webhook-signature-previous']).toBe(sign(old));
  });

  test.each(['standard', 'simple'] as const)(
    'after several rotations within a day, each former secret signs in the %s format for its own day',
    async (format) => {
      const path = freshPath();
      const { id } = await house.create(path, { format, secret: 'the first one', events: ['backup.completed'] });
      const secrets = ['the first one'];
      const signers: number[][] = [];
      const rotate = async () => {
        secrets.push((await house.call('POST', `/webhooks/${id}/rotate-secret`)).body.data.secret);
      };
      const send = async () => {
        await house.emit('backup.completed', completed);
        const request = (await house.receiver.arrivals(path, signers.length + 1)).at(-1)!;
        signers.push(secrets.flatMap((secret, index) => (isSignedBy(secret, request, format) ? [index] : [])));
      };
      await rotate();
      await afterHours(10, async () => {
        await rotate();
        await afterHours(10, async () => {
          await rotate();
          await send();
          await afterHours(5, send);
          await afterHours(15, send);
          await afterHours(25, send);
        });
      });
      expect(signers).toEqual([[0, 1, 2, 3], [1, 2, 3], [2, 3], [3]]);
    },
  );

  test('more former secrets than the headers can hold are refused, with the time to wait', async () => {
    const { id } = await house.create(freshPath(), { events: ['backup.completed'] });
    const rotate = () => house.call('POST', `/webhooks/${id}/rotate-secret`);
    for (let count = 0; count < 20; count += 1) expect((await rotate()).status).toBe(200);
    const refused = await rotate();
    expect([refused.status, refused.body.error.code]).toEqual([429, 'RATE_LIMITED']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(86_000);
    expect((await house.call('PATCH', `/webhooks/${id}`, { secret: 'set by hand' })).status).toBe(200);
    expect((await rotate()).status).toBe(200);
  });

  test('failed events say whether another attempt would follow', async () => {
    const path = freshPath();
    await house.create(path, { events: ['backup.failed'] });
    await house.emit('backup.failed', failed);
    expect(JSON.parse(only(await house.receiver.arrivals(path, 1)).body).metadata).toMatchObject({
      attempt: 1,
      maxAttempts: 5,
      willRetry: true,
    });
    const once = freshPath();
    await house.create(once, { events: ['backup.failed'], retryEnabled: false });
    await house.emit('backup.failed', failed);
    expect(JSON.parse(only(await house.receiver.arrivals(once, 1)).body).metadata).toMatchObject({
      maxAttempts: 1,
      willRetry: false,
    });
  });
});

describe('the simple format', () => {
  test('envelope, headers and signature are what the interface says', async () => {
    const path = freshPath();
    const { id } = await house.create(path, { format: 'simple', secret: 'simple secret' });
    await house.emit('backup.completed', completed);
    const request = only(await house.receiver.arrivals(path, 1));
    const body = JSON.parse(request.body);
    expect(Object.keys(body)).toEqual(['event', 'timestamp', 'data']);
    expect(body).toMatchObject({ event: 'backup.completed', data: completed.simple });
    expect(request.headers).toMatchObject({
      'content-type': 'application/json',
      'x-webhook-event': 'backup.completed',
      'x-webhook-timestamp': body.timestamp,
      'x-webhook-id': id,
      'x-webhook-signature': `sha256=${createHmac('sha256', 'simple secret').update(JSON.stringify(body)).digest('hex')}`,
    });
    expect(Object.keys(request.headers).filter((name) => /^(x-service|webhook-)/.test(name))).toEqual([]);
  });

  test('without a secret there is no signature header', async () => {
    const path = freshPath();
    await house.create(path, { format: 'simple' });
    await house.emit('backup.completed', completed);
    expect(only(await house.receiver.arrivals(path, 1)).headers).not.toHaveProperty('x-webhook-signature');
  });

  test('is never retried, and gets none of the events it does not know', async () => {
    const path = freshPath();
    house.receiver.answer(path, (_request, response) => response.writeHead(500).end());
    const { id } = await house.create(path, { format: 'simple' });
    await house.emit('project.created', { data: standardSamples['project.created'] });
    await house.emit('backup.completed', completed);
    const delivery = only(await house.deliveries(id, ([first]) => first?.status === 'failed'));
    expect(delivery).toMatchObject({
      eventType: 'backup.completed',
      attempts: 1,
      statusCode: 500,
      nextAttemptAt: null,
    });
  });
});

/** Runs the work that many hours later, and sets the clock back. */
async function afterHours(hours: number, work: () => Promise<void>): Promise<void> {
  const { app, owner } = house;
  const { token } = owner;
  app.clock.advance(hours * 3_600_000);
  owner.token = await freshToken(app, token);
  await work();
  app.clock.advance(-hours * 3_600_000);
  owner.token = token;
}

/** Whether a secret signed the request, in a single signature header or in the list of Standard Webhooks. */
function isSignedBy(secret: string, { headers, body }: ReceivedRequest, format: 'standard' | 'simple'): boolean {
  const timestamp = headers['x-service-timestamp'];
  const message = format === 'simple' ? body : `${timestamp}.${body}`;
  const hex = `sha256=${createHmac('sha256', secret).update(message).digest('hex')}`;
  const isSigned = Object.entries(headers).some(([name, value]) => /^x-.*-signature/.test(name) && value === hex);
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : Buffer.from(secret, 'utf8');
  const listed = createHmac('sha256', key).update(`${headers['webhook-id']}.${message}`).digest('base64');
  const list = headers['webhook-signature']?.toString().split(' ') ?? [];
  if (format === 'standard') expect(list.includes(`v1,${listed}`)).toBe(isSigned);
  return isSigned;
}
