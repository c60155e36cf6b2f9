import { createHmac } from 'node:crypto';
import { standardEnvelope, standardSamples } from '@holdfast/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { foundOrganization } from '../../../testing/people.ts';
import { startWebhookReceiver } from '../../../testing/webhook-receiver.ts';
import { completed, failed, freshPath, minutes, only, startWebhookHouse, type WebhookBench } from '../testing.ts';

let house: WebhookBench;
beforeAll(async () => {
  house = await startWebhookHouse();
});
afterAll(() => house.close());

describe('what matches', () => {
  test('exact names, prefixes and everything, and filters by project and trigger', async () => {
    await house.knowProjects(['prj_1', 'prj_2', 'prj_9']);
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
    const backup = ['backup.completed'];
    const both = ['backup.completed', 'organization.updated'];
    const expected: Record<keyof typeof hooks, string[]> = {
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
    };
    for (const [name, types] of Object.entries(expected))
      await house.receiver.arrivals(at[name] as string, types.length);
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
    expect(got).toEqual(expected);
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

  test('events during the time a webhook is disabled are not sent later', async () => {
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
    ['more than two hours', () => '999999999', 7200],
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
    const shown = async () => (await house.call('GET', `/webhooks/${id}`)).body.data;
    await expect.poll(async () => (await shown()).enabled).toBe(false);
    expect(await shown()).toMatchObject({ disabledBecause: 'gone', failingSince: expect.any(String) });
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

test('an organization that is removed for good still sends that event to its webhooks', async () => {
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
