import { createHmac } from 'node:crypto';
import { standardEnvelope, standardSamples } from '@holdfast/contract';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { completed, failed, freshPath, only, startWebhookHouse, type WebhookHouse } from '../testing.ts';

let house: WebhookHouse;
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
    expect(Math.abs(Number(timestamp) - Date.now() / 1000)).toBeLessThan(10);
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

  test('any other secret keys their signature with its UTF-8 bytes', async () => {
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
