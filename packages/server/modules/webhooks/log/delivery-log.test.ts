import { standardEnvelope, standardSamples } from '@holdfast/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { completed, type Delivery, failed, freshPath, only, startWebhookHouse, type WebhookBench } from '../testing.ts';

let house: WebhookBench;
beforeAll(async () => {
  house = await startWebhookHouse();
});
afterAll(() => house.close());

describe('the log', () => {
  test('shows the raw request and every answer, 16 KiB of it, and never the secret', async () => {
    const path = freshPath();
    house.receiver.answer(path, (_request, response) => response.writeHead(500).end(`${'é\u0000'.repeat(20_000)}`));
    const { id, secret = '' } = await house.create(path, { headers: { 'X-Team': 'ops' } });
    await house.emit('backup.completed', completed);
    const delivery = only(await house.deliveries(id, ([first]) => first?.attempts === 1));
    const sent = only(await house.receiver.arrivals(path, 1));
    const answer = await house.call('GET', `/webhooks/${id}/deliveries/${delivery.id}/request`);
    expect(answer.text).not.toContain(secret);
    const { headers, attempts, signedWith, ...rest } = answer.body.data;
    expect(rest).toEqual({ id: delivery.id, method: 'POST', url: house.receiver.address + path, body: sent.body });
    expect(signedWith).toBe('current');
    expect(headers).toMatchObject({
      'X-Service-Signature': sent.headers['x-service-signature'],
      'X-Team': 'ops',
      'Content-Type': 'application/json',
    });
    expect(only(attempts)).toMatchObject({
      attempt: 1,
      statusCode: 500,
      error: 'The endpoint answered 500.',
      duration: expect.any(Number),
      timestamp: expect.any(String),
    });
    expect(Buffer.byteLength(attempts[0].responseBody.replaceAll('\uFFFD', '.'))).toBeLessThanOrEqual(16 * 1024);
    expect(attempts[0].responseBody.length).toBeGreaterThan(10_000);
  });

  test('nothing is sent again to a disabled webhook, and the answer says so', async () => {
    const path = freshPath();
    house.receiver.answer(path, (_request, response) => response.writeHead(410).end());
    const { id } = await house.create(path);
    await house.emit('backup.completed', completed);
    const before = only(await house.deliveries(id, ([delivery]) => delivery?.status === 'failed'));
    const shown = async () => (await house.call('GET', `/webhooks/${id}`)).body.data;
    await expect.poll(async () => (await shown()).enabled).toBe(false);
    const since = new Date(Date.parse(before.timestamp) - 1000).toISOString();
    const again = () => [
      house.call('POST', `/webhooks/${id}/recover`, { since }),
      house.call('POST', `/webhooks/${id}/deliveries/${before.id}/retry`),
    ];
    for (const refused of await Promise.all(again()))
      expect([refused.status, refused.body.error?.code], refused.text).toEqual([409, 'INVALID_STATE']);
    expect(only(await house.deliveries(id))).toEqual(before);
    await house.call('PATCH', `/webhooks/${id}/toggle`, { enabled: true });
    const recovered = await house.call('POST', `/webhooks/${id}/recover`, { since });
    expect(recovered.body.data).toMatchObject({ recovered: 1 });
    await house.receiver.arrivals(path, 2);
  });

  test('a retry keeps the id, continues counting, and replaces the automatic one', async () => {
    const path = freshPath();
    house.receiver.answer(path, (_request, response) => response.writeHead(500).end());
    const { id } = await house.create(path);
    await house.emit('backup.completed', completed);
    const first = only(await house.deliveries(id, ([delivery]) => delivery?.attempts === 1));
    house.receiver.answer(path, (_request, response) => response.writeHead(204).end());
    const retry = await house.call('POST', `/webhooks/${id}/deliveries/${first.id}/retry`);
    expect(retry.status).toBe(202);
    expect(retry.body.data).toMatchObject({ id: first.id, status: 'pending', attempts: 1 });
    expect(retry.headers.get('location')).toBe(`/api/v1/webhooks/${id}/deliveries/${first.id}/request`);
    const second = only(await house.deliveries(id, ([delivery]) => delivery?.attempts === 2));
    expect(second).toMatchObject({ id: first.id, status: 'delivered', statusCode: 204, nextAttemptAt: null });
    expect(second).not.toHaveProperty('lastError');
    const requests = house.receiver.to(path);
    expect(requests.map((request) => JSON.parse(request.body).metadata.attempt)).toEqual([1, 2]);
    expect(new Set(requests.map((request) => request.headers['x-service-delivery-id']))).toEqual(new Set([first.id]));
    const { attempts } = (await house.call('GET', `/webhooks/${id}/deliveries/${first.id}/request`)).body.data;
    expect(attempts.map((attempt: { statusCode: number }) => attempt.statusCode)).toEqual([500, 204]);
  });

  test('a manual retry counts on beyond the automatic attempts, and says that none follows', async () => {
    const path = freshPath();
    house.receiver.answer(path, (_request, response) => response.writeHead(500).end());
    const { id } = await house.create(path, { retryEnabled: false, events: ['backup.failed'] });
    await house.emit('backup.failed', failed);
    const first = only(await house.deliveries(id, ([delivery]) => delivery?.status === 'failed'));
    await house.call('POST', `/webhooks/${id}/deliveries/${first.id}/retry`);
    const second = only(await house.deliveries(id, ([delivery]) => delivery?.attempts === 2));
    expect(second).toMatchObject({ status: 'failed', nextAttemptAt: null });
    const metadata = house.receiver.to(path).map((request) => JSON.parse(request.body).metadata);
    expect(metadata).toMatchObject([1, 2].map((attempt) => ({ attempt, maxAttempts: 1, willRetry: false })));
  });

  test('recovering sends again what failed since then, and nothing else', async () => {
    const path = freshPath();
    house.receiver.answer(path, (_request, response) => response.writeHead(500).end());
    const { id } = await house.create(path, { retryEnabled: false, events: ['backup.failed'] });
    expect((await house.call('POST', `/webhooks/${id}/test`)).body.data.success).toBe(false);
    for (let count = 0; count < 3; count++) await house.emit('backup.failed', failed);
    await house.deliveries(id, (list) => list.length === 4 && list.every((delivery) => delivery.status === 'failed'));
    house.receiver.answer(path, (_request, response) => response.writeHead(200).end());
    const later = new Date(house.app.clock.now().getTime() + 60_000).toISOString();
    expect((await house.call('POST', `/webhooks/${id}/recover`, { since: later })).body.data).toEqual({
      recovered: 0,
      tryingAgain: 0,
      hasMore: false,
    });
    const since = new Date(house.app.clock.now().getTime() - 60_000).toISOString();
    const answer = await house.call('POST', `/webhooks/${id}/recover`, { since });
    expect(answer.status).toBe(202);
    expect(answer.body.data).toEqual({ recovered: 3, tryingAgain: 0, hasMore: false });
    const isSent = ({ status }: Delivery) => status === 'delivered';
    const recovered = await house.deliveries(id, (list) => list.filter(isSent).length === 3);
    // The oldest is the sample of the test call, which is not a real event.
    expect(recovered.map(({ attempts, status, isTest }) => [attempts, status, isTest])).toEqual([
      ...Array(3).fill([2, 'delivered', false]),
      [1, 'failed', true],
    ]);
    const retried = await house.call('POST', `/webhooks/${id}/deliveries/${recovered.at(-1)?.id}/retry`);
    expect(retried.body.data).toMatchObject({ isTest: true, status: 'pending' });
    expect((await house.call('POST', `/webhooks/${id}/recover`, { since: 'yesterday' })).body.error.details.field).toBe(
      'since',
    );
  });

  test('pages newest first, by status and event, and a cursor belongs to its filters', async () => {
    const path = freshPath();
    const { id } = await house.create(path, { events: ['restore.*'] });
    const types = [
      'restore.started',
      'restore.progress',
      'restore.completed',
      'restore.failed',
      'restore.started',
    ] as const;
    for (const type of types) await house.emit(type, { data: standardSamples[type] });
    const all = await house.deliveries(
      id,
      (list) => list.filter((delivery) => delivery.status === 'delivered').length === 5,
    );
    const seen: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page = await house.call('GET', `/webhooks/${id}/deliveries?limit=2${cursor && `&cursor=${cursor}`}`);
      seen.push(...page.body.data.deliveries.map((delivery: { id: string }) => delivery.id));
      cursor = page.body.pagination.nextCursor;
    }
    expect(seen).toEqual(all.map((delivery) => delivery.id));
    expect(seen).toEqual([...seen].sort().reverse());
    const started = await house.call('GET', `/webhooks/${id}/deliveries?eventType=restore.started&status=delivered`);
    expect(started.body.data.deliveries).toHaveLength(2);
    const page = await house.call('GET', `/webhooks/${id}/deliveries?limit=1`);
    const mixed = await house.call(
      'GET',
      `/webhooks/${id}/deliveries?status=failed&cursor=${page.body.pagination.nextCursor}`,
    );
    expect(mixed.body.error.code).toBe('VALIDATION_ERROR');
    expect((await house.call('GET', `/webhooks/${id}/deliveries?limit=0`)).body.error.code).toBe('VALIDATION_ERROR');
  });
});

describe('the test call', () => {
  test('sends a sample now, returns how it went, and leaves it in the log', async () => {
    const path = freshPath();
    const { id } = await house.create(path, { enabled: false });
    const answer = await house.call('POST', `/webhooks/${id}/test`, { event: 'storage.error' });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      success: true,
      data: {
        webhookId: id,
        webhookName: path,
        event: 'storage.error',
        url: house.receiver.address + path,
        success: true,
        statusCode: 200,
        duration: expect.any(Number),
      },
    });
    const body = JSON.parse(only(house.receiver.to(path)).body);
    expect(standardEnvelope.parse(body)).toMatchObject({
      type: 'storage.error',
      data: standardSamples['storage.error'],
    });
    expect(only(await house.deliveries(id))).toMatchObject({
      eventType: 'storage.error',
      status: 'delivered',
      attempts: 1,
    });
  });

  test.each(['backup.started', 'backup.failed', 'schedule.triggered', 'schedule.failed'])(
    'names the trigger of the job in its metadata, as %s does',
    async (event) => {
      const path = freshPath();
      const { id } = await house.create(path);
      await house.call('POST', `/webhooks/${id}/test`, { event });
      const { metadata } = JSON.parse(only(house.receiver.to(path)).body);
      expect(metadata).toMatchObject({ trigger: 'scheduled', scheduleId: expect.stringMatching(/^sch_/) });
    },
  );

  test('a failed delivery is a successful call', async () => {
    const path = freshPath();
    house.receiver.answer(path, (_request, response) => response.writeHead(418).end());
    const { id } = await house.create(path, { format: 'simple' });
    const answer = await house.call('POST', `/webhooks/${id}/test`);
    expect(answer.body).toMatchObject({
      success: true,
      data: { success: false, statusCode: 418, event: 'backup.completed', error: 'The endpoint answered 418.' },
    });
    expect(JSON.parse(only(house.receiver.to(path)).body).event).toBe('backup.completed');
  });

  test('that is answered with 410 disables the webhook, as any delivery would', async () => {
    const path = freshPath();
    house.receiver.answer(path, (_request, response) => response.writeHead(410).end());
    const { id } = await house.create(path);
    expect((await house.call('POST', `/webhooks/${id}/test`)).body.data).toMatchObject({
      success: false,
      statusCode: 410,
    });
    const shown = async () => (await house.call('GET', `/webhooks/${id}`)).body.data;
    expect(await shown()).toMatchObject({ enabled: false, disabledBecause: 'gone', failingSince: expect.any(String) });
    house.receiver.answer(path, (_request, response) => response.writeHead(200).end());
    await house.call('PATCH', `/webhooks/${id}/toggle`, { enabled: true });
    await house.call('POST', `/webhooks/${id}/test`);
    expect(await shown()).toMatchObject({ enabled: true, disabledBecause: null, failingSince: null });
  });
});
