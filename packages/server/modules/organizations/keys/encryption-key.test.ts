import { pbkdf2Sync, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { asOwner } from '../../../testing/people.ts';
import { foundOrganization, type TestOrganization } from '../../../testing/team.ts';
import { startTestApp, type TestApp } from '../../../testing/test-app.ts';
import type { Caller, LaterModules, OrganizationsContext } from '../context.ts';
import { OrganizationKeys } from './organization-keys.ts';
import { rotateEncryptionKey } from './rotate-encryption-key.ts';

const path = '/api/v1/organizations/current/encryption-key';
const passphrase = 'correct horse battery staple é';

let app: TestApp;
let keys: OrganizationKeys;
let organization: TestOrganization;
beforeAll(async () => {
  app = await startTestApp();
  keys = new OrganizationKeys(app.platform);
});
afterAll(() => app.close());

const asTheOwner = () => ({ token: organization.owner.token, organizationId: organization.id });
const put = (body: object) => app.request('PUT', path, { ...asTheOwner(), body });
const inTenant = <T>(work: Parameters<typeof app.platform.database.tenant<T>>[1]) =>
  app.platform.database.tenant(organization.id, work);
const current = () => inTenant((transaction) => keys.current(transaction, organization.id));
const byId = (keyId: string) => inTenant((transaction) => keys.byId(transaction, organization.id, keyId));

test("a new organization is encrypted with a key of the service's own", async () => {
  organization = await foundOrganization(app);
  const shown = await app.request('GET', path, asTheOwner());
  expect(shown.body.data).toMatchObject({ source: 'service', type: null, version: 1 });
  const key = await current();
  expect(key).toMatchObject({ kind: 'service', derivation: null });
  expect(key.key).toHaveLength(32);
  const refused = await app.request('DELETE', path, asTheOwner());
  expect([refused.status, refused.body.error.code]).toEqual([409, 'INVALID_STATE']);
});

test('a passphrase becomes the key that PBKDF2 gives, and is nowhere in clear text', async () => {
  organization = await foundOrganization(app);
  const service = await current();
  const answer = await put({ passphrase });
  expect(answer.body.data).toMatchObject({ source: 'customer', type: 'passphrase', version: 2 });
  const { key, derivation, keyId } = await current();
  expect(derivation).toMatchObject({ algorithm: 'PBKDF2-HMAC-SHA256', iterations: 600_000 });
  const expected = pbkdf2Sync(
    passphrase.normalize('NFC'),
    Buffer.from(derivation?.salt ?? '', 'hex'),
    600_000,
    32,
    'sha256',
  );
  expect(key).toEqual(expected);
  expect((await byId(service.keyId)).key).toEqual(service.key);
  const dump = await asOwner(app.databaseUrl, async (client) => {
    const rows: unknown[] = [];
    for (const table of ['organization_keys', 'audit_logs', 'outbox_events', 'idempotency_keys'])
      rows.push(...(await client.query(`select t::text from ${table} t`)).rows);
    return JSON.stringify(rows);
  });
  expect(dump).toContain(keyId);
  for (const secret of [passphrase, key.toString('base64'), key.toString('hex'), key.toString('base64url')])
    expect(dump + app.logged()).not.toContain(secret);
});

test('the backups of a withdrawn key are unreadable until the same key is supplied again', {
  tags: 'long',
}, async () => {
  organization = await foundOrganization(app);
  await put({ passphrase });
  const before = await current();
  const withdrawn = await app.request('DELETE', path, asTheOwner());
  expect(withdrawn.body.message).toMatch(/unreadable/);
  expect((await app.request('GET', path, asTheOwner())).body.data).toMatchObject({ source: 'service', version: 3 });
  await expect(byId(before.keyId)).rejects.toMatchObject({
    code: 'DECRYPTION_ERROR',
    message: expect.stringContaining('holdfast encryption-key set'),
  });
  await put({ passphrase: 'another passphrase' });
  await expect(byId(before.keyId)).rejects.toMatchObject({ code: 'DECRYPTION_ERROR' });
  const again = await put({ passphrase: passphrase.normalize('NFD') });
  expect(again.body.data).toMatchObject({ source: 'customer', version: 5 });
  expect(await current()).toEqual(before);
});

test('a key is recognised like a passphrase, and the previous one stays available', async () => {
  organization = await foundOrganization(app);
  const first = randomBytes(32);
  await put({ key: first.toString('base64') });
  const { keyId } = await current();
  const same = await put({ key: first.toString('base64') });
  expect(same.body.data.version).toBe(2);
  await put({ key: randomBytes(32).toString('base64') });
  expect((await byId(keyId)).key).toEqual(first);
  const all = await inTenant((transaction) => keys.available(transaction, organization.id));
  expect(all.map((key) => key.kind)).toEqual(['key', 'key', 'service']);
  const wrong = await put({ key: 'c2hvcnQ=' });
  expect(wrong.status).toBe(400);
});

test('a replaced passphrase stays available when the key derived from it is supplied', async () => {
  organization = await foundOrganization(app);
  await put({ passphrase });
  const derived = await current();
  await put({ key: randomBytes(32).toString('base64') });
  await put({ key: derived.key.toString('base64') });
  expect(await current()).toEqual(derived);
  expect(derived.passphrase).toBe(passphrase.normalize('NFC'));
});

test('withdrawing forgets every key the customer supplied, also replaced ones', async () => {
  organization = await foundOrganization(app);
  await put({ key: randomBytes(32).toString('base64') });
  const { keyId } = await current();
  await put({ key: randomBytes(32).toString('base64') });
  await app.request('DELETE', path, asTheOwner());
  await expect(byId(keyId)).rejects.toMatchObject({ code: 'DECRYPTION_ERROR' });
  const all = await inTenant((transaction) => keys.available(transaction, organization.id));
  expect(all.map((key) => key.kind)).toEqual(['service', 'service']);
});

test('after many concurrent changes one key is current, and every version sent one event', async () => {
  organization = await foundOrganization(app);
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      index % 3 === 0
        ? app.request('POST', `${path}/rotate`, asTheOwner())
        : put({ key: randomBytes(32).toString('base64') }),
    ),
  );
  expect(answers.map((answer) => answer.status)).toEqual(Array(12).fill(200));
  expect(answers.map((answer) => answer.body.data.version).sort((a, b) => a - b)).toEqual(
    Array.from({ length: 12 }, (_, index) => index + 2),
  );
});

test('If-Match protects the key from a change that the caller has not seen', async () => {
  organization = await foundOrganization(app);
  const etag = (await app.request('GET', path, asTheOwner())).headers.get('etag') as string;
  await put({ key: randomBytes(32).toString('base64') });
  const body = { key: randomBytes(32).toString('base64') };
  const stale = await app.request('PUT', path, { ...asTheOwner(), body, headers: { 'if-match': etag } });
  expect(stale.status).toBe(412);
});

test('stored parameters that would slow down or weaken the derivation are refused', async () => {
  organization = await foundOrganization(app);
  await put({ passphrase });
  for (const iterations of [10_000_001, 1000]) {
    await asOwner(app.databaseUrl, (client) =>
      client.query(
        `update organization_keys set derivation = jsonb_set(derivation, '{iterations}', to_jsonb($2::int)) where organization_id = $1 and kind = 'passphrase'`,
        [organization.id, iterations],
      ),
    );
    const answer = await put({ passphrase });
    expect([answer.status, answer.body.error.code]).toEqual([409, 'DECRYPTION_ERROR']);
  }
});

/** Stands in for the backups module: wrapped keys that follow a rotation. */
function withRewrap(rewrap: LaterModules['rewraps'][number]): OrganizationsContext {
  const { platform } = app;
  const later = { rewraps: [rewrap], keysChanged: async () => {} } as unknown as LaterModules;
  const audit = { write: async () => undefined } as unknown as OrganizationsContext['audit'];
  return { ...platform, audit, later };
}
const caller = (): Caller => ({
  principal: {
    kind: 'person',
    userId: organization.owner.id,
    email: organization.owner.email,
    emailVerified: true,
    name: '',
    sessionId: '',
  },
  origin: { requestId: 'req_test', ip: null, userAgent: null },
});

test('a rotation passes on the old keys and the new one, in one transaction with the change', async () => {
  organization = await foundOrganization(app);
  const before = await current();
  const context = withRewrap(async (_transaction, organizationId, source) => {
    expect(organizationId).toBe(organization.id);
    expect(source.open(before.keyId).key).toEqual(before.key);
    expect(source.wrapWith.keyId).not.toBe(before.keyId);
    return 7;
  });
  expect(await rotateEncryptionKey(context, organization.id, caller())).toMatchObject({ rewrapped: 7 });
  expect((await current()).keyId).not.toBe(before.keyId);
  const failing = withRewrap(async () => {
    throw new Error('half way');
  });
  const { keyId } = await current();
  await expect(rotateEncryptionKey(failing, organization.id, caller())).rejects.toThrow('half way');
  expect((await current()).keyId).toBe(keyId);
});

test("a rotation under the customer's key keeps that key, and is refused when an earlier one was withdrawn", async () => {
  organization = await foundOrganization(app);
  await put({ key: randomBytes(32).toString('base64') });
  const withdrawn = await current();
  await app.request('DELETE', path, asTheOwner());
  await put({ key: randomBytes(32).toString('base64') });
  const { keyId } = await current();
  const rotated = await app.request('POST', `${path}/rotate`, asTheOwner());
  expect(rotated.body.data).toMatchObject({ source: 'customer', version: 5, rewrapped: 0 });
  expect((await current()).keyId).toBe(keyId);
  const context = withRewrap(async (_transaction, _organizationId, source) => {
    source.open(withdrawn.keyId);
    return 1;
  });
  await expect(rotateEncryptionKey(context, organization.id, caller())).rejects.toMatchObject({
    code: 'DECRYPTION_ERROR',
  });
});
