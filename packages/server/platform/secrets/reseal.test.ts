import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { loadConfig } from '../../config.ts';
import { sealedColumns } from '../../modules/declarations.ts';
import { OrganizationKeys } from '../../modules/organizations/keys/organization-keys.ts';
import { rotateMasterKey } from '../../rotate-master-key.ts';
import { startMailServer } from '../../testing/mail-server.ts';
import { asOwner } from '../../testing/people.ts';
import { openSession } from '../../testing/sessions.ts';
import { foundOrganization, type TestOrganization } from '../../testing/team.ts';
import { createOneOfEverything } from '../../testing/tenant-resources.ts';
import { startTestApp, type TestApp, testMasterKey } from '../../testing/test-app.ts';
import { connectDatabase } from '../database/database.ts';
import { openInstallationSecret } from './installation-secret.ts';
import { forgetPreviousKeyFile, loadKeyring, renewKeyFile } from './master-key.ts';
import { MasterKeyring } from './master-keyring.ts';
import { reseal } from './reseal.ts';

const oldKey = Buffer.from(testMasterKey, 'base64');
const newKey = randomBytes(32);

let app: TestApp;
let organization: TestOrganization;
beforeAll(async () => {
  const nobody = await startMailServer();
  await nobody.close();
  app = await startTestApp({ SMTP_URL: nobody.url });
  organization = await foundOrganization(app);
  await createOneOfEverything(app, organization);
  const { refreshToken } = await openSession(app, organization.owner.id);
  await app.request('POST', '/api/v1/auth/refresh', { body: { refreshToken } });
  // An event is on its way to the webhook, and what was sent is sealed too.
  const isSent = async () => expect(Object.keys(await sealedNow())).toContain('webhook_attempts.sealed_headers');
  await vi.waitFor(isSent, { timeout: 60_000, interval: 100 });
});
afterAll(() => app.close());

/** Every column with sealed values, with the ids of the master keys they are sealed under. */
const sealedNow = () =>
  asOwner(app.databaseUrl, async (client) => {
    const { rows } = await client.query(
      `select table_name as table, column_name as column from information_schema.columns where table_schema = 'public' and data_type = 'text'`,
    );
    const found: Record<string, string[]> = {};
    for (const { table, column } of rows) {
      const held = await client.query(
        `select distinct split_part("${column}", '.', 2) as id from "${table}" where "${column}" like 'hf1.%'`,
      );
      if (held.rowCount) found[`${table}.${column}`] = held.rows.map((row) => row.id);
    }
    return found;
  });

test('everything is sealed under the new key afterwards, and opens with it alone', async () => {
  const before = await sealedNow();
  expect(Object.keys(before)).toEqual(
    expect.arrayContaining([
      'organization_keys.sealed',
      'outgoing_mails.sealed',
      'refresh_tokens.successor',
      'signing_keys.private_jwk',
      'webhooks.sealed_secret',
      'webhooks.sealed_headers',
    ]),
  );
  const { database } = app.platform;
  const inTenant = (keyring: MasterKeyring) =>
    database.tenant(organization.id, (transaction) =>
      new OrganizationKeys({ ...app.platform, keyring }).current(transaction, organization.id),
    );
  const { key } = await inTenant(app.platform.keyring);
  const report = await reseal(database, new MasterKeyring(newKey, [oldKey]), sealedColumns);
  expect(report.left).toEqual({});
  expect(Object.keys(report.resealed).sort()).toEqual(Object.keys(before).sort());
  const after = await sealedNow();
  expect(Object.keys(after).sort()).toEqual(Object.keys(before).sort());
  expect(new Set(Object.values(after).flat()).size).toBe(1);
  expect(Object.values(after).flat()[0]).not.toBe(Object.values(before).flat()[0]);
  const alone = new MasterKeyring(newKey);
  expect((await inTenant(alone)).key).toEqual(key);
  await asOwner(app.databaseUrl, async (client) => {
    for (const { table, column, identifiedBy, purpose } of sealedColumns) {
      const { rows } = await client.query(
        `select ${identifiedBy} as id, ${column} as envelope from ${table} where ${column} is not null`,
      );
      for (const { id, envelope } of rows) expect(alone.open(envelope, purpose(id)).length).toBeGreaterThan(0);
    }
  });
  expect(await reseal(database, alone, sealedColumns)).toEqual({ resealed: {}, left: {} });
});

test('an unregistered column is reported, so that its key is not thrown away', async () => {
  const forgetful = sealedColumns.filter((column) => column.table !== 'organization_keys');
  const report = await reseal(app.platform.database, new MasterKeyring(randomBytes(32), [newKey]), forgetful);
  expect(report.left).toEqual({ 'organization_keys.sealed': 1 });
});

test('the registry names columns that exist, each once', async () => {
  const names = sealedColumns.map(({ table, column }) => `${table}.${column}`);
  expect(new Set(names).size).toBe(names.length);
  await asOwner(app.databaseUrl, async (client) => {
    for (const { table, column, identifiedBy } of sealedColumns)
      await client.query(`select ${column}, ${identifiedBy} from ${table} limit 0`);
  });
});

test('wherever a rotation is interrupted, neither key alone starts a process, and the rotation can be continued', {
  tags: 'long',
}, async () => {
  const half = await startTestApp();
  try {
    await createOneOfEverything(half, await foundOrganization(half));
    await half.stop();
    const url = half.databaseUrl;
    const database = connectDatabase({ url, poolSize: 2, log: half.platform.log });
    const isRefused = async (key: Buffer) => {
      const { rows } = await asOwner(url, (client) => client.query('select name, sealed from installation_secrets'));
      return rows.some(({ name, sealed }) => {
        try {
          return openInstallationSecret(new MasterKeyring(key), name, sealed).length === 0;
        } catch {
          return true;
        }
      });
    };
    const between: boolean[][] = [];
    for (let steps = 1, isOver = false; !isOver; steps++) {
      let left = steps;
      const system: typeof database.system = (work) =>
        left-- > 0 ? database.system(work) : Promise.reject(new Error('killed'));
      isOver = await reseal({ ...database, system }, new MasterKeyring(newKey, [oldKey]), sealedColumns).then(
        () => true,
        () => false,
      );
      if (!isOver) between.push([await isRefused(oldKey), await isRefused(newKey)]);
    }
    // The last one counts what is left and changes nothing.
    expect(between.slice(0, -1)).toEqual(between.slice(1).map(() => [true, true]));
    expect(between.length).toBeGreaterThan(10);
    expect([await isRefused(oldKey), await isRefused(newKey)]).toEqual([true, false]);
    await database.close();
  } finally {
    await half.close();
  }
});

test('a key file is replaced without a moment in which either key is lost', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-key-'));
  const source = { MASTER_KEYS_PREVIOUS: [], HOLDFAST_DATA: folder };
  try {
    const envelope = (await loadKeyring(source)).seal('secret', 'test');
    const first = await readFile(join(folder, 'master.key'), 'utf8');
    await renewKeyFile(folder);
    const second = await readFile(join(folder, 'master.key'), 'utf8');
    expect(second).not.toBe(first);
    const both = await loadKeyring(source);
    expect(both.openText(envelope, 'test')).toBe('secret');
    expect(both.isStale(envelope)).toBe(true);
    await renewKeyFile(folder);
    expect(await readFile(join(folder, 'master.key'), 'utf8')).toBe(second);
    await forgetPreviousKeyFile(folder);
    expect(await readdir(folder)).toEqual(['master.key']);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test('the command rotates the key of an installation that keeps its key in a file', { tags: 'long' }, async () => {
  const kept = await startTestApp({ MASTER_KEY: '' });
  try {
    const { id } = await foundOrganization(kept);
    const config = loadConfig({ DATABASE_URL: kept.databaseUrl, HOLDFAST_DATA: kept.folder, LOG_LEVEL: 'silent' });
    // A running service would keep sealing under the key that this command removes.
    const former = await readFile(join(kept.folder, 'master.key'), 'utf8');
    await expect(rotateMasterKey(config)).rejects.toThrow('Stop every process of the service');
    expect(await readFile(join(kept.folder, 'master.key'), 'utf8')).toBe(former);
    await kept.stop();
    const report = await rotateMasterKey(config);
    expect(report.left).toEqual({});
    expect(report.resealed['organization_keys.sealed']).toBe(1);
    expect(await readdir(kept.folder)).toContain('master.key');
    expect(await readdir(kept.folder)).not.toContain('master.key.previous');
    const keyring = await loadKeyring(config);
    const database = connectDatabase({ url: kept.databaseUrl, poolSize: 2, log: kept.platform.log });
    const key = await database
      .tenant(id, (transaction) => new OrganizationKeys({ ...kept.platform, keyring }).current(transaction, id))
      .finally(() => database.close());
    expect(key.key).toHaveLength(32);
  } finally {
    await kept.close();
  }
});
