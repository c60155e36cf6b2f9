import { allowedEvents } from '@holdfast/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { asOwner, foundOrganization, join, signUp } from '../../testing/people.ts';
import { startWebhookHouse, type WebhookBench } from './testing.ts';

let house: WebhookBench;
beforeAll(async () => {
  house = await startWebhookHouse();
});
afterAll(() => house.close());

const valid = { name: 'Hook', url: 'https://hooks.example.com/in', events: ['backup.completed'] };
const post = (body: unknown, headers?: Record<string, string>) => house.call('POST', '/webhooks', body, headers);

describe('creating', () => {
  test('answers 201 with the listed fields, the generated secret once, and its address', async () => {
    const answer = await post(valid);
    expect(answer.status).toBe(201);
    expect(Object.keys(answer.body.data).sort()).toEqual([
      'createdAt',
      'enabled',
      'events',
      'format',
      'id',
      'name',
      'secret',
      'url',
    ]);
    expect(answer.body.data).toMatchObject({ ...valid, enabled: true, format: 'standard' });
    expect(answer.body.data.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(answer.headers.get('location')).toBe(`/api/v1/webhooks/${answer.body.data.id}`);
  });

  test('a given secret is never shown again, and a simple webhook without one stays without', async () => {
    const given = await post({ ...valid, secret: 'my own secret' });
    expect(given.text).not.toContain('my own secret');
    const simple = await post({ ...valid, format: 'simple' });
    expect(simple.body.data).not.toHaveProperty('secret');
    const shown = await house.call('GET', `/webhooks/${simple.body.data.id}`);
    expect(shown.body.data.secret).toBeNull();
  });

  test('a replayed answer has no secret', async () => {
    const headers = { 'idempotency-key': 'hook-1' };
    const first = await post(valid, headers);
    const again = await post(valid, headers);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.body.data).toEqual({ ...first.body.data, secret: null });
  });

  test('takes every setting, and shows them in the list and by itself', async () => {
    await house.knowProjects(['prj_1']);
    const settings = {
      headers: { 'X-Team': 'ops', Authorization: 'Bearer abc' },
      timeout: 5000,
      retryEnabled: false,
      filters: { projects: ['prj_1'], trigger: ['scheduled'], excludeTrigger: ['manual'] },
    };
    const { id } = (await post({ ...valid, ...settings, enabled: false })).body.data;
    const shown = (await house.call('GET', `/webhooks/${id}`)).body.data;
    expect(shown).toMatchObject({ ...valid, ...settings, enabled: false, format: 'standard', lastTriggeredAt: null });
    expect(shown.secret).toMatch(/^whsec_\*{8}/);
    const { secret, ...listed } = shown;
    const list = await house.call('GET', '/webhooks');
    expect(list.body.data.find((hook: { id: string }) => hook.id === id)).toEqual(listed);
  });
});

describe('what is refused', () => {
  test.each([
    'http://hooks.example.com/in',
    'ftp://hooks.example.com',
    'hooks.example.com',
    '',
    'https://',
    'javascript:alert(1)',
  ])('the URL %j, with field and reason', async (url) => {
    const answer = await post({ ...valid, url });
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { field: 'url', reason: 'must be a valid HTTPS URL' },
    });
  });

  test.each([
    '10.0.0.1',
    '2852039166',
    '[::1]',
    '[::ffff:169.254.169.254]',
    '0xa9.0xfe.0xa9.0xfe',
    '192.168.1.1',
    '[fd00:ec2::254]',
  ])('the private address %s at once, on creating and on changing', async (host) => {
    const url = `https://${host}/`;
    const { id } = (await post(valid)).body.data;
    for (const answer of [
      await post({ ...valid, url }),
      await house.call('PUT', `/webhooks/${id}`, { url }),
      await house.call('PATCH', `/webhooks/${id}`, { url }),
    ]) {
      expect(answer.status).toBe(400);
      expect(answer.body.error).toMatchObject({ code: 'VALIDATION_ERROR', details: { field: 'url' } });
    }
  });

  test('events outside the format, naming them and the allowed ones', async () => {
    const events = ['backup.completed', 'backup.*', '*', 'backup.exploded', 'storage.*', 'backup', '**'];
    const standard = await post({ ...valid, events });
    expect(standard.status).toBe(400);
    expect(standard.body.error.details).toEqual({
      field: 'events',
      invalidValues: ['backup.exploded', 'backup', '**'],
      allowedValues: [...allowedEvents('standard')],
    });
    const simple = await post({ ...valid, format: 'simple', events });
    expect(simple.body.error.details).toEqual({
      field: 'events',
      invalidValues: ['backup.exploded', 'storage.*', 'backup', '**'],
      allowedValues: [...allowedEvents('simple')],
    });
    const { id } = (await post({ ...valid, format: 'simple' })).body.data;
    for (const method of ['PUT', 'PATCH']) {
      const changed = await house.call(method, `/webhooks/${id}`, { events: ['project.created'] });
      expect(changed.body.error).toMatchObject({
        code: 'VALIDATION_ERROR',
        details: { field: 'events', invalidValues: ['project.created'] },
      });
    }
  });

  test.each([
    'Host',
    'content-type',
    'Content-Length',
    'Connection',
    'Transfer-Encoding',
    'X-Service-Signature',
    'x-webhook-id',
    'webhook-id',
    'Keep-Alive',
    'TE',
    'Upgrade',
    'Proxy-Authorization',
  ])('the reserved header %s', async (header) => {
    const answer = await post({ ...valid, headers: { [header]: 'x' } });
    expect(answer.status).toBe(400);
    expect(answer.body.error.details.field).toContain('headers');
  });

  test('header values that would end the header', async () => {
    expect((await post({ ...valid, headers: { 'X-A': 'b\r\nX-C: d' } })).status).toBe(400);
  });

  test.each([999, 60_001, 1000.5, '5000'])('the timeout %j', async (timeout) => {
    expect((await post({ ...valid, timeout })).body.error.details.field).toBe('timeout');
  });

  test('a format change, unknown fields, credentials in the URL, no events', async () => {
    const { id } = (await post(valid)).body.data;
    expect((await house.call('PATCH', `/webhooks/${id}`, { format: 'simple' })).body.error.details.field).toBe(
      'format',
    );
    expect((await post({ ...valid, colour: 'red' })).body.error.details.field).toBe('colour');
    expect((await post({ ...valid, url: 'https://u:p@example.com/' })).body.error.details.field).toBe('url');
    expect((await post({ ...valid, events: [] })).body.error.details.field).toBe('events');
    for (const field of ['name', 'url', 'events'] as const) {
      expect((await post({ ...valid, [field]: undefined })).body.error.details.field).toBe(field);
    }
  });

  test('a test event outside the format', async () => {
    const { id } = (await post({ ...valid, format: 'simple' })).body.data;
    const answer = await house.call('POST', `/webhooks/${id}/test`, { event: 'project.created' });
    expect(answer.body.error).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { field: 'event', invalidValues: ['project.created'], allowedValues: [...allowedEvents('simple')] },
    });
  });
});

describe('changing', () => {
  test('PUT changes only what is given and answers with the listed fields', async () => {
    const { id } = (await post({ ...valid, headers: { 'X-A': '1' } })).body.data;
    const answer = await house.call('PUT', `/webhooks/${id}`, { name: 'Renamed' });
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.body.data).sort()).toEqual(['events', 'id', 'name', 'updatedAt']);
    const shown = (await house.call('GET', `/webhooks/${id}`)).body.data;
    expect(shown).toMatchObject({
      name: 'Renamed',
      url: valid.url,
      events: valid.events,
      headers: { 'X-A': '1' },
      enabled: true,
    });
  });

  test('PATCH sets every setting and answers with the whole webhook, the secret masked', async () => {
    const { id } = (await post(valid)).body.data;
    const change = {
      headers: { 'X-B': '2' },
      filters: { excludeTrigger: ['manual'] },
      timeout: 60_000,
      retryEnabled: false,
      secret: 'a secret of some length',
      enabled: false,
      events: ['*'],
    };
    const answer = await house.call('PATCH', `/webhooks/${id}`, change);
    expect(answer.body.data).toEqual((await house.call('GET', `/webhooks/${id}`)).body.data);
    expect(answer.body.data).toMatchObject({ ...change, secret: '********ngth' });
  });

  test('toggle answers id, enabled and updatedAt', async () => {
    const { id } = (await post(valid)).body.data;
    for (const enabled of [false, true]) {
      const answer = await house.call('PATCH', `/webhooks/${id}/toggle`, { enabled });
      expect(answer.body.data).toEqual({ id, enabled, updatedAt: expect.any(String) });
      expect((await house.call('GET', `/webhooks/${id}`)).body.data.enabled).toBe(enabled);
    }
    expect((await house.call('PATCH', `/webhooks/${id}/toggle`, {})).status).toBe(400);
  });

  test('If-Match guards every change', async () => {
    const { id } = (await post(valid)).body.data;
    const old = (await house.call('GET', `/webhooks/${id}`)).headers.get('etag') as string;
    const renamed = await house.call('PUT', `/webhooks/${id}`, { name: 'B' }, { 'if-match': old });
    expect(renamed.status).toBe(200);
    expect(renamed.headers.get('etag')).not.toBe(old);
    const stale = { 'if-match': old };
    expect((await house.call('PUT', `/webhooks/${id}`, { name: 'C' }, stale)).status).toBe(412);
    expect((await house.call('PATCH', `/webhooks/${id}`, { name: 'C' }, stale)).status).toBe(412);
    expect((await house.call('PATCH', `/webhooks/${id}/toggle`, { enabled: false }, stale)).status).toBe(412);
    expect((await house.call('DELETE', `/webhooks/${id}`, undefined, stale)).status).toBe(412);
    const fresh = { 'if-match': renamed.headers.get('etag') as string };
    expect((await house.call('DELETE', `/webhooks/${id}`, undefined, fresh)).body).toMatchObject({
      success: true,
      message: expect.any(String),
    });
    expect((await house.call('GET', `/webhooks/${id}`)).body.error.code).toBe('WEBHOOK_NOT_FOUND');
  });

  test('rotating answers the new secret once and until when the old one signs', async () => {
    const { id, secret } = (await post(valid)).body.data;
    const answer = await house.call('POST', `/webhooks/${id}/rotate-secret`);
    expect(answer.status).toBe(200);
    expect(answer.body.data).toEqual({
      id,
      secret: expect.stringMatching(/^whsec_/),
      previousSecretValidUntil: expect.any(String),
    });
    expect(answer.body.data.secret).not.toBe(secret);
    const graceHours =
      (Date.parse(answer.body.data.previousSecretValidUntil) - house.app.clock.now().getTime()) / 3_600_000;
    expect(graceHours).toBeCloseTo(24, 1);
    const { id: bare } = (await post({ ...valid, format: 'simple' })).body.data;
    expect((await house.call('POST', `/webhooks/${bare}/rotate-secret`)).body.data.previousSecretValidUntil).toBeNull();
  });
});

describe('who may', () => {
  test('viewers read, admins change, other organizations find nothing', { tags: 'long' }, async () => {
    const { app, organizationId } = house;
    const { id } = (await post(valid)).body.data;
    const as = async (role: string) => {
      const person = await signUp(app, `${role}@acme.test`);
      await join(app, organizationId, person, role);
      return (method: string, path: string, body?: unknown) =>
        app.request(method, `/api/v1${path}`, {
          token: person.token,
          organizationId,
          ...(body === undefined ? {} : { body }),
        });
    };
    const changes = [
      ['POST', '/webhooks', valid],
      ['PUT', `/webhooks/${id}`, { name: 'x' }],
      ['PATCH', `/webhooks/${id}`, { name: 'x' }],
      ['PATCH', `/webhooks/${id}/toggle`, { enabled: true }],
      ['POST', `/webhooks/${id}/test`, {}],
      ['POST', `/webhooks/${id}/rotate-secret`, undefined],
      ['POST', `/webhooks/${id}/recover`, { since: '2026-01-01T00:00:00Z' }],
      ['POST', `/webhooks/${id}/deliveries/dlv_1/retry`, undefined],
      ['DELETE', `/webhooks/${id}`, undefined],
    ] as const;
    for (const role of ['viewer', 'member']) {
      const call = await as(role);
      for (const path of ['/webhooks', `/webhooks/${id}`, `/webhooks/${id}/deliveries`])
        expect((await call('GET', path)).status).toBe(200);
      for (const [method, path, body] of changes) {
        const answer = await call(method, path, body);
        expect(answer.body.error, `${role} ${method} ${path}`).toMatchObject({
          code: 'PERMISSION_DENIED',
          details: { requiredRole: 'admin', currentRole: role },
        });
      }
    }
    const stranger = await signUp(app, 'stranger@else.test');
    const elsewhere = await foundOrganization(app, stranger);
    const foreign = (method: string, path: string, body?: unknown) =>
      app.request(method, `/api/v1${path}`, {
        token: stranger.token,
        organizationId: elsewhere,
        ...(body === undefined ? {} : { body }),
      });
    for (const [method, path, body] of changes.slice(1)) {
      expect((await foreign(method, path, body)).body.error.code, `${method} ${path}`).toBe('WEBHOOK_NOT_FOUND');
    }
    for (const path of [`/webhooks/${id}`, `/webhooks/${id}/deliveries`, `/webhooks/${id}/deliveries/dlv_1/request`]) {
      expect((await foreign('GET', path)).body.error.code).toBe('WEBHOOK_NOT_FOUND');
    }
    expect((await foreign('GET', '/webhooks')).body.data).toEqual([]);
    expect((await house.call('GET', `/webhooks/${id}/deliveries/dlv_1/request`)).body.error.code).toBe(
      'DELIVERY_NOT_FOUND',
    );
    expect((await house.call('POST', `/webhooks/${id}/deliveries/dlv_1/retry`)).body.error.code).toBe(
      'DELIVERY_NOT_FOUND',
    );
  });
});

test('the list is newest first and pages without loss while others are created', async () => {
  const owner = await signUp(house.app, 'pages@acme.test');
  const organizationId = await foundOrganization(house.app, owner);
  const call = (method: string, path: string, body?: unknown) =>
    house.app.request(method, `/api/v1${path}`, { token: owner.token, organizationId, ...(body ? { body } : {}) });
  const made: string[] = [];
  for (let index = 0; index < 5; index++) made.unshift((await call('POST', '/webhooks', valid)).body.data.id);
  const seen: string[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const page = await call('GET', `/webhooks?limit=2${cursor && `&cursor=${cursor}`}`);
    seen.push(...page.body.data.map((hook: { id: string }) => hook.id));
    cursor = page.body.pagination.nextCursor;
    await call('POST', '/webhooks', valid);
  }
  expect(seen).toEqual(made);
  const foreign = await call('GET', '/webhooks?limit=1');
  expect((await house.call('GET', `/webhooks?cursor=${foreign.body.pagination.nextCursor}`)).body.error.code).toBe(
    'VALIDATION_ERROR',
  );
});

test('changes are audited, and no secret is in the database, the audit log or the service log', async () => {
  const secret = 'whsec_c3VwZXItc2VjcmV0LXN1cGVyLXNlY3JldA==';
  const header = 'Bearer receiver-credential';
  const { id } = (
    await post({ ...valid, url: `${house.receiver.address}/quiet`, secret, headers: { Authorization: header } })
  ).body.data;
  await house.call('POST', `/webhooks/${id}/test`);
  await house.call('PATCH', `/webhooks/${id}/toggle`, { enabled: false });
  await house.call('POST', `/webhooks/${id}/rotate-secret`);
  await house.call('DELETE', `/webhooks/${id}`);
  const dump = await asOwner(house.app.databaseUrl, async (client) => {
    const { rows: tables } = await client.query(
      `select table_name from information_schema.tables where table_schema = 'public'`,
    );
    const parts: string[] = [];
    for (const { table_name } of tables)
      parts.push(JSON.stringify((await client.query(`select * from ${table_name}`)).rows));
    const { rows } = await client.query(
      'select action, actor_email from audit_logs where resource_id = $1 order by position',
      [id],
    );
    return { text: parts.join('\n'), audit: rows };
  });
  expect(dump.audit.map((row) => row.action)).toEqual([
    'webhook.created',
    'webhook.tested',
    'webhook.disabled',
    'webhook.secret_rotated',
    'webhook.deleted',
  ]);
  expect(new Set(dump.audit.map((row) => row.actor_email))).toEqual(new Set(['owner@acme.test']));
  for (const text of [dump.text, house.app.logged()]) {
    expect(text).not.toContain(secret);
    expect(text).not.toContain(header);
  }
});
