import { createHmac } from 'node:crypto';
import { simpleSamples, standardEnvelope, standardSamples } from '@holdfast/contract';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EventPayload } from '../../platform/outbox.ts';
import { foundOrganization } from '../../testing/people.ts';
import { startWebhookReceiver } from '../../testing/webhook-receiver.ts';
import { startWebhookHouse, type WebhookHouse } from './testing.ts';

let house: WebhookHouse;
beforeAll(async () => {
  house = await startWebhookHouse();
});
afterAll(() => house.close());

const completed: EventPayload = {
  data: standardSamples['backup.completed'],
  simple: simpleSamples['backup.completed'],
  metadata: { trigger: 'scheduled', scheduleId: 'sch_1' },
  filter: { projectId: 'prj_1', trigger: 'scheduled' },
};
const failed: EventPayload = { data: standardSamples['backup.failed'], simple: simpleSamples['backup.failed'] };
const minutes = (count: number) => count * 60_000;
const only = <T>(list: T[]): T => {
  expect(list).toHaveLength(1);
  return list[0] as T;
};
let paths = 0;
const freshPath = () => `/hook-${++paths}`;

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

describe('what matches', () => {
  test('exact names, prefixes and everything, and filters by project and trigger', async () => {
    const hooks = {
      exact: { events: ['backup.failed', 'backup.completed'] },
      prefix: { events: ['backup.*'] },
      otherPrefix: { events: ['restore.*', 'schedule.*'] },
      all: { events: ['*'] },
      project: { events: ['*'], filters: { projects: ['prj_1', 'prj_9'] } },
      otherProject: { events: ['*'], filters: { projects: ['prj_2'] } },
      trigger: { events: ['*'], filters: { trigger: ['scheduled'] } },
      otherTrigger: { events: ['*'], filters: { trigger: ['manual'] } },
      excluded: { events: ['*'], filters: { excludeTrigger: ['scheduled'] } },
      notExcluded: { events: ['*'], filters: { excludeTrigger: ['manual'], projects: [] } },
      disabled: { events: ['*'], enabled: false },
    };
    const at = Object.fromEntries(Object.keys(hooks).map((name) => [name, freshPath()]));
    for (const [name, settings] of Object.entries(hooks)) await house.create(at[name] as string, settings);
    await house.emit('backup.completed', completed);
    await house.emit('organization.updated', { data: standardSamples['organization.updated'] });
    await house.receiver.arrivals(at.all as string, 2);
    await new Promise((resolve) => setTimeout(resolve, 300));
    const got = Object.fromEntries(
      Object.entries(at).map(([name, path]) => [
        name,
        house.receiver
          .to(path)
          .map((request) => JSON.parse(request.body).type)
          .sort(),
      ]),
    );
    const backup = ['backup.completed'];
    const both = ['backup.completed', 'organization.updated'];
    expect(got).toEqual({
      exact: backup,
      prefix: backup,
      otherPrefix: [],
      all: both,
      project: backup,
      otherProject: [],
      trigger: backup,
      otherTrigger: [],
      excluded: ['organization.updated'],
      notExcluded: both,
      disabled: [],
    });
  });

  test('an event reaches the webhooks of its own organization only', async () => {
    const path = freshPath();
    await house.create(path);
    const elsewhere = await foundOrganization(house.app, house.owner);
    await house.emit('backup.completed', completed, elsewhere);
    await house.emit('backup.completed', { ...completed, data: { mine: true } });
    const request = only(await house.receiver.arrivals(path, 1));
    expect(JSON.parse(request.body).data).toEqual({ mine: true });
  });

  test('what happens while a webhook is disabled is not sent later', async () => {
    const path = freshPath();
    const { id } = await house.create(path, { events: ['backup.completed'] });
    await house.call('PATCH', `/webhooks/${id}/toggle`, { enabled: false });
    const missed = await house.emit('backup.completed', completed);
    await new Promise((resolve) => setTimeout(resolve, 500));
    await house.call('PATCH', `/webhooks/${id}/toggle`, { enabled: true });
    const sent = await house.emit('backup.completed', completed);
    const request = only(await house.receiver.arrivals(path, 1));
    expect(JSON.parse(request.body).id).toBe(sent);
    expect(sent).not.toBe(missed);
  });
});

describe('attempts', () => {
  test('five, at 0, 1, 5, 30 and 120 minutes after the end of the one before, all under one id', async () => {
    const own = await startWebhookHouse({ ACCESS_TOKEN_TTL: '86400' });
    const path = freshPath();
    own.receiver.answer(path, (_request, response) => response.writeHead(503).end('busy'));
    const { id, secret = '' } = await own.create(path);
    await own.emit('backup.failed', failed);
    for (const [index, delay] of [1, 5, 30, 120].entries()) {
      const delivery = only(await own.deliveries(id, ([first]) => first?.attempts === index + 1));
      expect(delivery).toMatchObject({ status: 'pending', statusCode: 503, lastError: 'The endpoint answered 503.' });
      const waitMs = Date.parse(delivery.nextAttemptAt as string) - own.app.clock.now().getTime();
      expect(Math.abs(waitMs - minutes(delay))).toBeLessThan(5000);
      own.app.clock.advance(waitMs - 1500);
      expect(own.receiver.to(path)).toHaveLength(index + 1);
      own.app.clock.advance(1500);
      await own.receiver.arrivals(path, index + 2);
    }
    const delivery = only(await own.deliveries(id, ([first]) => first?.status === 'failed'));
    expect(delivery).toMatchObject({ attempts: 5, nextAttemptAt: null });
    const requests = own.receiver.to(path);
    expect(requests.map((request) => JSON.parse(request.body).metadata)).toEqual(
      [1, 2, 3, 4, 5].map((attempt) => ({ attempt, deliveryId: delivery.id, maxAttempts: 5, willRetry: attempt < 5 })),
    );
    for (const request of requests) {
      const timestamp = request.headers['x-service-timestamp'];
      expect(request.headers['x-service-signature']).toBe(
        `sha256=${createHmac('sha256', secret).update(`${timestamp}.${request.body}`).digest('hex')}`,
      );
    }
    own.app.clock.advance(minutes(600));
    await new Promise((resolve) => setTimeout(resolve, 1300));
    expect(own.receiver.to(path)).toHaveLength(5);
    await own.close();
  });

  test('retryEnabled false means one attempt', async () => {
    const path = freshPath();
    house.receiver.answer(path, (_request, response) => response.writeHead(500).end());
    const { id } = await house.create(path, { retryEnabled: false });
    await house.emit('backup.completed', completed);
    expect(only(await house.deliveries(id, ([first]) => first?.status === 'failed'))).toMatchObject({ attempts: 1 });
  });

  test.each([
    ['seconds beyond the schedule', () => '3600', 3600],
    ['seconds below the schedule', () => '5', 60],
    ['a date', (nowMs: number) => new Date(nowMs + 600_000).toUTCString(), 600],
    ['nonsense', () => 'soon', 60],
    ['more than a day', () => '999999999', 86_400],
  ])('Retry-After is respected upwards: %s', async (_name, header, seconds) => {
    const path = freshPath();
    house.receiver.answer(path, (_request, response) =>
      response.writeHead(429, { 'retry-after': header(house.app.clock.now().getTime()) }).end(),
    );
    const { id } = await house.create(path);
    await house.emit('backup.completed', completed);
    const { nextAttemptAt } = only(await house.deliveries(id, ([first]) => first?.attempts === 1));
    const waitSeconds = (Date.parse(nextAttemptAt as string) - house.app.clock.now().getTime()) / 1000;
    expect(Math.abs(waitSeconds - seconds)).toBeLessThan(5);
  });

  test('the timeout covers an endpoint that never answers and one whose body never ends', async () => {
    const [silent, endless] = [freshPath(), freshPath()];
    house.receiver.answer(silent, () => undefined);
    house.receiver.answer(endless, (_request, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write('.'), 50);
      response.on('close', () => clearInterval(timer));
    });
    for (const path of [silent, endless]) {
      const { id } = await house.create(path, { timeout: 1000, retryEnabled: false });
      await house.emit('backup.completed', completed);
      const delivery = only(await house.deliveries(id, ([first]) => first?.status === 'failed'));
      expect(delivery.lastError).toBe('No complete answer came within 1000 ms.');
      expect(delivery.duration).toBeGreaterThanOrEqual(990);
      expect(delivery.duration).toBeLessThan(2500);
    }
  });

  test('a redirect is a failure and is not followed', async () => {
    const [from, to] = [freshPath(), freshPath()];
    house.receiver.answer(from, (_request, response) =>
      response.writeHead(307, { location: house.receiver.address + to }).end(),
    );
    for (const format of ['standard', 'simple']) {
      const { id } = await house.create(from, { format });
      await house.emit('backup.completed', completed);
      const delivery = only(await house.deliveries(id, ([first]) => (first?.attempts ?? 0) > 0));
      expect(delivery).toMatchObject({
        statusCode: 307,
        lastError: 'The endpoint answered 307; redirects are not followed.',
      });
    }
    expect(house.receiver.to(to)).toEqual([]);
  });

  test('410 ends the delivery and disables the webhook', async () => {
    const path = freshPath();
    house.receiver.answer(path, (_request, response) => response.writeHead(410).end());
    const { id } = await house.create(path);
    await house.emit('backup.completed', completed);
    expect(only(await house.deliveries(id, ([first]) => first?.status === 'failed'))).toMatchObject({
      attempts: 1,
      statusCode: 410,
    });
    await expect.poll(async () => (await house.call('GET', `/webhooks/${id}`)).body.data.enabled).toBe(false);
    const log = await house.call('GET', `/audit-logs?action=webhook.disabled&resourceId=${id}`);
    expect(log.body.data[0]).toMatchObject({ actor: { type: 'system' }, resource: { type: 'webhook', id } });
  });

  test.each([
    ['a closed port', () => 'https://localhost:1/', 'The connection was refused.'],
    [
      'a certificate nobody vouches for',
      () => `https://127.0.0.2:${house.receiver.port}/`,
      'The connection was refused.',
    ],
    ['a name that leads home', () => `https://home.internal:${house.receiver.port}/`, 'The name could not be resolved'],
  ])('%s is told in a sentence', async (_name, url, sentence) => {
    const { id } = (await house.call('POST', '/webhooks', { name: 'x', url: url(), events: ['*'] })).body.data;
    const answer = await house.call('POST', `/webhooks/${id}/test`);
    expect(answer.body.data).toMatchObject({
      success: false,
      statusCode: null,
      error: expect.stringContaining(sentence),
    });
  });

  test('connections are reused', async () => {
    const receiver = await startWebhookReceiver();
    const { id } = await house.create('/', { url: receiver.address, events: ['restore.*'] });
    for (let count = 1; count <= 20; count++) {
      await house.emit('restore.started', { data: standardSamples['restore.started'] });
      await receiver.arrivals('/', count);
    }
    await house.deliveries(id, (list) => list.filter((delivery) => delivery.status === 'delivered').length === 20);
    expect(receiver.connections()).toBeLessThan(4);
    await house.call('DELETE', `/webhooks/${id}`);
    await receiver.close();
  });
});

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
    const { headers, attempts, ...rest } = answer.body.data;
    expect(rest).toEqual({ id: delivery.id, method: 'POST', url: house.receiver.address + path, body: sent.body });
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

  test('a retry keeps the id, goes on counting, and replaces the automatic one', async () => {
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

  test('recovering sends again what failed since then, and nothing else', async () => {
    const path = freshPath();
    house.receiver.answer(path, (_request, response) => response.writeHead(500).end());
    const { id } = await house.create(path, { retryEnabled: false, events: ['backup.failed'] });
    for (let count = 0; count < 3; count++) await house.emit('backup.failed', failed);
    await house.deliveries(id, (list) => list.length === 3 && list.every((delivery) => delivery.status === 'failed'));
    house.receiver.answer(path, (_request, response) => response.writeHead(200).end());
    const later = new Date(house.app.clock.now().getTime() + 60_000).toISOString();
    expect((await house.call('POST', `/webhooks/${id}/recover`, { since: later })).body.data).toEqual({ recovered: 0 });
    const since = new Date(house.app.clock.now().getTime() - 60_000).toISOString();
    const answer = await house.call('POST', `/webhooks/${id}/recover`, { since });
    expect(answer.status).toBe(202);
    expect(answer.body.data).toEqual({ recovered: 3 });
    const recovered = await house.deliveries(id, (list) => list.every((delivery) => delivery.status === 'delivered'));
    expect(recovered.map((delivery) => delivery.attempts)).toEqual([2, 2, 2]);
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
  test('sends a sample now, tells how it went, and leaves it in the log', async () => {
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
});

test('an organization that is removed for good still says so to its webhooks', async () => {
  const path = freshPath();
  const elsewhere = await foundOrganization(house.app, house.owner);
  const as = { token: house.owner.token, organizationId: elsewhere };
  const url = house.receiver.address + path;
  const body = { name: 'Last', url, events: ['organization.*'], secret: 'the last secret' };
  await house.app.request('POST', '/api/v1/webhooks', { ...as, body });
  const { name } = (await house.app.request('GET', '/api/v1/organizations/current', as)).body.data;
  const gone = await house.app.request('POST', '/api/v1/organizations/current/delete', {
    ...as,
    body: { confirmName: name, force: true },
  });
  expect(gone.body.data).toMatchObject({ deletionType: 'permanent' });
  const request = only(await house.receiver.arrivals(path, 1, 20_000));
  expect(standardEnvelope.parse(JSON.parse(request.body))).toMatchObject({
    type: 'organization.deleted',
    data: { organization: { id: elsewhere }, deletionType: 'permanent' },
  });
  const message = `${request.headers['x-service-timestamp']}.${request.body}`;
  const hex = createHmac('sha256', 'the last secret').update(message).digest('hex');
  expect(request.headers['x-service-signature']).toBe(`sha256=${hex}`);
});
