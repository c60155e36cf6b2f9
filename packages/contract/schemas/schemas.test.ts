import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { allOperations, operations } from '../operations/index.ts';
import { name, text, timeZone } from './primitives.ts';

const {
  createBackup,
  createProject,
  createStorageDestination,
  createWebhook,
  listBackups,
  setEncryptionKey,
  startRestore,
} = operations;

describe('text', () => {
  test.each([
    ['a null byte', 'a\u0000b'],
    ['a control character', 'a\u0007b'],
    ['a line end', 'a\nb'],
    ['half of a surrogate pair', 'a\ud800b'],
    ['the other half', '\udc00'],
  ])('refuses %s', (_, value) => {
    expect(text({ max: 10 }).safeParse(value).success).toBe(false);
  });

  test.each(['', 'Zürich', '日本', '👩‍🚀', 'a\u0301'])('accepts %j', (value) => {
    expect(text({ max: 20 }).safeParse(value).success).toBe(true);
  });

  test('of a name is trimmed, and is never empty', () => {
    expect(name.parse('  Acme ')).toBe('Acme');
    expect(name.safeParse('   ').success).toBe(false);
    expect(name.safeParse('x'.repeat(101)).success).toBe(false);
  });
});

describe('a time zone', () => {
  test.each(['UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires'])('%s is one', (zone) => {
    expect(timeZone().safeParse(zone).success).toBe(true);
  });
  test.each(['', '+01:00', 'Berlin', 'Europe/Atlantis', 'Europe/Berlin\u0000'])('%j is none', (zone) => {
    expect(timeZone().safeParse(zone).success).toBe(false);
  });
});

describe('a page limit', () => {
  const limit = (value: unknown) => listBackups.query.safeParse({ limit: value }).data?.limit;
  test('is 50 by default, and lowered to 200 when larger', () => {
    expect(listBackups.query.parse({}).limit).toBe(50);
    expect([limit('1'), limit('200'), limit('201'), limit('99999999999999999999999')]).toEqual([1, 200, 200, 200]);
  });
  test.each(['0', '-1', '1.5', '1.0000000000000009', 'x', '', 'NaN', 'Infinity', ['1', '2']])('refuses %j', (value) => {
    expect(limit(value)).toBeUndefined();
  });
});

describe('a range of time', () => {
  test('includes the whole day a plain date names', () => {
    const { from, to } = listBackups.query.parse({ from: '2026-01-31', to: '2026-01-31' });
    expect([from, to]).toEqual(['2026-01-31T00:00:00.000Z', '2026-02-01T00:00:00.000Z']);
  });
  test('takes any offset', () => {
    expect(listBackups.query.parse({ from: '2026-01-01T00:00:00+02:00' }).from).toBe('2025-12-31T22:00:00.000Z');
  });
  test.each(['2026-02-30', 'yesterday', '2026-01-01T00:00:00', '0000-01-01', '2026-13-01'])('refuses %s', (from) => {
    expect(listBackups.query.safeParse({ from }).success).toBe(false);
  });
});

describe('a new backup', () => {
  test('is full, of everything, with subcollections, unless it says otherwise', () => {
    expect(createBackup.body.parse({ projectId: 'prj_1' })).toEqual({
      projectId: 'prj_1',
      type: 'full',
      collections: ['*'],
      excludeCollections: [],
      includeSubcollections: true,
      dryRun: false,
    });
  });
  test.each([
    [{ collections: [] }],
    [{ collections: ['*', 'users'] }],
    [{ collections: ['users/ada'] }],
    [{ collections: ['users//x'] }],
    [{ collections: ['users'], excludeCollections: ['logs'] }],
    [{ storageDestinationId: 'dst_1', storageDestinationIds: ['dst_2'] }],
    [{ type: 'differential' }],
  ])('refuses %j', (fields) => {
    expect(createBackup.body.safeParse({ projectId: 'prj_1', ...fields }).success).toBe(false);
  });
});

test('names of documents may contain what Firestore allows, line ends included', () => {
  const { documentPath } = operations.getBackupDocument.params.parse({ backupId: 'bkp_1', documentPath: 'users/a\nb' });
  expect(documentPath).toBe('users/a\nb');
  expect(startRestore.body.safeParse({ backupId: 'bkp_1', documentIds: ['users/\ud800'] }).success).toBe(false);
});

describe('a new restore', () => {
  const fault = (fields: object) => startRestore.body.safeParse(fields).error?.issues[0]?.path[0];

  test('overwrites with a safety backup, unless it says otherwise', () => {
    const { options } = startRestore.body.parse({ backupId: 'bkp_1' });
    expect(options).toMatchObject({
      mergeMode: 'overwrite',
      safetyBackup: true,
      rewriteReferences: true,
      deleteExtra: false,
      dryRun: false,
    });
  });
  test.each([
    ['backupId', {}],
    ['pointInTime', { backupId: 'bkp_1', pointInTime: '2026-01-01T00:00:00Z' }],
    ['projectId', { pointInTime: '2026-01-01T00:00:00Z' }],
    ['projectId', { backupId: 'bkp_1', projectId: 'prj_1' }],
    ['collections', { backupId: 'bkp_1', collections: ['a'], options: { collections: ['b'] } }],
    ['documentIds', { backupId: 'bkp_1', documentIds: ['ada'] }],
    ['documentIds', { backupId: 'bkp_1', documentIds: ['ada'], collections: ['a', 'b'] }],
  ])('names %s as the fault of %j', (field, fields) => {
    expect(fault(fields)).toBe(field);
  });
  test('accepts bare ids within one collection, and equal collections in both places', () => {
    expect(fault({ backupId: 'bkp_1', documentIds: ['ada'], collections: ['users'] })).toBeUndefined();
    expect(fault({ backupId: 'bkp_1', collections: ['a', 'b'], options: { collections: ['b', 'a'] } })).toBeUndefined();
  });
});

describe('a new webhook', () => {
  const base = { name: 'Hook', url: 'https://example.org/hook', events: ['backup.*'] };
  const issue = (fields: object) => createWebhook.body.safeParse({ ...base, ...fields }).error?.issues[0];

  test('gets the defaults of the interface', () => {
    expect(createWebhook.body.parse(base)).toMatchObject({
      enabled: true,
      format: 'standard',
      headers: {},
      timeout: 30_000,
      retryEnabled: true,
    });
  });
  test.each(['http://example.org', 'ftp://example.org', 'example.org', 'https://', 'javascript:alert(1)', ''])(
    'refuses the address %j in the words of the interface',
    (url) => {
      expect(issue({ url })).toMatchObject({ path: ['url'], message: 'must be a valid HTTPS URL' });
    },
  );
  test.each([
    'Host',
    'content-length',
    'Transfer-Encoding',
    'X-Service-Signature',
    'X-Webhook-Id',
    'webhook-signature',
    'Connection',
    'Proxy-Authorization',
  ])('does not let a customer set %s', (header) => {
    expect(issue({ headers: { [header]: 'x' } })).toMatchObject({ path: ['headers', header], message: 'is reserved' });
  });
  test.each([{ 'a b': 'x' }, { '': 'x' }, { a: 'x\r\ny: z' }, { a: 'ü' }, { a: 1 }])(
    'refuses the header %j',
    (headers) => {
      expect(issue({ headers })).toBeDefined();
    },
  );
  test.each([999, 60_001, 1000.5, '5000'])('refuses the timeout %j', (timeout) => {
    expect(issue({ timeout })?.path).toEqual(['timeout']);
  });
});

describe('credentials', () => {
  const key = {
    type: 'service_account',
    project_id: 'acme-shop',
    client_email: 'a@acme-shop.iam.gserviceaccount.com',
    private_key: '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n',
    token_uri: 'x',
  };

  test('of a service account are taken as an object or as the text of the file', () => {
    const project = (value: unknown) =>
      createProject.body.safeParse({
        name: 'Shop',
        sourceProjectId: 'acme-shop',
        connection: { type: 'service_account', key: value },
      });
    expect(project(key).success).toBe(true);
    expect(project(JSON.stringify(key)).data?.connection).toEqual(project(key).data?.connection);
    for (const wrong of ['{', 'text', {}, { ...key, private_key: 'x' }, 5, null])
      expect(project(wrong).success).toBe(false);
  });

  test('of a destination belong to its type', () => {
    const keyPair = { accessKeyId: 'a', secretAccessKey: 'b' };
    const destination = (fields: object) =>
      createStorageDestination.body.safeParse({ name: 'Main', bucket: 'backups', ...fields }).success;
    expect(destination({ type: 's3', credentials: keyPair })).toBe(true);
    expect(destination({ type: 's3', credentials: { serviceAccountKey: key } })).toBe(false);
    expect(destination({ type: 'gcs', credentials: { serviceAccountKey: key } })).toBe(true);
    expect(destination({ type: 'spaces', credentials: keyPair })).toBe(false);
    expect(destination({ type: 'spaces', region: 'fra1', credentials: keyPair })).toBe(true);
    expect(destination({ type: 'local', path: 'x' })).toBe(false);
  });

  test('of an organization are a passphrase or a key of 32 bytes, never both', () => {
    const fits = (value: object) => setEncryptionKey.body.safeParse(value).success;
    const bytes = Buffer.alloc(32, 7).toString('base64');
    expect(fits({ key: bytes })).toBe(true);
    expect(fits({ passphrase: 'correct horse battery' })).toBe(true);
    expect(fits({})).toBe(false);
    expect(fits({ key: bytes, passphrase: 'correct horse battery' })).toBe(false);
    expect(fits({ key: Buffer.alloc(31).toString('base64') })).toBe(false);
  });
});

test('no input makes a check throw instead of answering', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...allOperations),
      fc.anything({ withNullPrototype: true, withBigInt: true }),
      (operation, value) => {
        operation.body?.safeParse(value);
        operation.query?.safeParse(value);
        operation.params?.safeParse(value);
      },
    ),
    { numRuns: 3000 },
  );
});
