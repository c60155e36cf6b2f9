// @module-tag long
import { type BlobStore, copyKeyOf, createS3Store, KeyRing, readKeyCopies, secretsOf } from '@holdfast/engine';
import {
  type GcsSandbox,
  type GoogleSandbox,
  type S3Sandbox,
  sandboxS3Credential,
  startGcsSandbox,
  startGoogleSandbox,
  startS3Sandbox,
} from '@holdfast/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ManifestObject } from '../../../../engine/format/manifest-object.ts';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { asOwner, foundOrganization, signUp } from '../../../testing/people.ts';
import { untilEnded } from '../../../testing/protected-project.ts';
import { startTestApp, testMasterKey } from '../../../testing/test-app.ts';

let bench: BackupBench;
let s3: S3Sandbox;
let gcs: GcsSandbox;
let google: GoogleSandbox;
let environment: Record<string, string>;
let plain: BlobStore;
const ids = { plain: '', vault: '', google: '' };
const lock = { mode: 'compliance', days: 30 };
const bucketOf = (bucket: string) => ({
  name: bucket,
  type: 's3',
  bucket,
  endpoint: s3.endpoint,
  forcePathStyle: true,
  credentials: sandboxS3Credential,
});

beforeAll(async () => {
  s3 = await startS3Sandbox({ buckets: ['plain'] });
  const now = Date.now();
  const settings = { region: 'us-east-1', createdAtMs: now, versioning: 'Enabled' as const, objectLock: true };
  await s3.objects.saveBucket({ ...settings, name: 'vault' });
  google = await startGoogleSandbox();
  gcs = await startGcsSandbox({ isTokenValid: (token) => google.control.verifyAccessToken(token) !== undefined });
  const times = { createdAtMs: now, updatedAtMs: now, metageneration: 1 };
  await gcs.objects.saveBucket({
    ...times,
    name: 'locking',
    project: 'sandbox',
    location: 'US',
    objectRetention: true,
  });
  environment = {
    ...hasty,
    OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8',
    GOOGLE_API_ENDPOINTS: JSON.stringify({ ...google.endpoints, storage: gcs.endpoint }),
  };
  bench = await startBackupBench(environment);
  await bench.firestore.doc('users/ada').set({ n: 1 });
  ids.plain = await destination(bucketOf('plain'));
  ids.vault = await destination({ ...bucketOf('vault'), objectLock: lock });
  const credentials = { serviceAccountKey: google.control.createServiceAccount('sandbox') };
  ids.google = await destination({ name: 'Google', type: 'gcs', bucket: 'locking', objectLock: lock, credentials });
  const connection = { region: 'us-east-1', endpoint: s3.endpoint, forcePathStyle: true };
  plain = await createS3Store({ kind: 's3', bucket: 'plain', credentials: sandboxS3Credential, ...connection });
});
afterAll(async () => {
  await plain.close();
  await bench.close();
  await Promise.all([s3.stop(), gcs.stop(), google.stop()]);
});

async function destination(body: object): Promise<string> {
  const created = await bench.app.request('POST', '/api/v1/storage-destinations', { ...bench.as, body });
  expect([created.status, created.body.data?.status], created.text).toEqual([201, 'connected']);
  return created.body.data.id;
}

/** Another process of the same service. */
const besides = (more: Record<string, string>) =>
  startTestApp({ ...environment, DATABASE_URL: bench.app.databaseUrl, HOLDFAST_DATA: bench.app.folder, ...more });

const reminder = 'no recovery kit holds the key in use';

test('every start says that no recovery kit holds the key in use, until its owner takes one, and again after a new key', async () => {
  const before = await besides({ HOLDFAST_ROLES: 'api' });
  expect(before.logged()).toContain(reminder);
  expect(before.logged()).toContain(bench.as.organizationId);
  await before.close();
  const taken = await bench.app.request('POST', '/api/v1/organizations/current/recovery-kit', bench.as);
  expect(taken.status, taken.text).toBe(200);
  const after = await besides({ HOLDFAST_ROLES: 'api' });
  expect(after.logged()).not.toContain(reminder);
  await after.close();
  const takenAt = async () => (await bench.get('/organizations/current')).recoveryKitTakenAt;
  expect(await takenAt()).not.toBeNull();
  const rotated = await bench.app.request('POST', '/api/v1/organizations/current/encryption-key/rotate', bench.as);
  expect(rotated.status, rotated.text).toBe(200);
  expect(await takenAt()).toBeNull();
});

/** Every version of a manifest in the two buckets that lock. */
function manifests(backupId: string): unknown[][] {
  const key = `backups/${backupId}/manifest`;
  const inVault = s3.objects.bucket('vault').keys.get(key) ?? [];
  return [inVault.map(({ versionId, etag }) => [versionId, etag]), [gcs.objects.object('locking', key).generation]];
}

test('a rotated key leaves locked manifests as they are: the keys beside them open them for a new server', async () => {
  const destinations = [ids.plain, ids.vault, ids.google];
  const backupId = await bench.backUp({ storageDestinationIds: destinations });
  const before = manifests(backupId);
  expect(before.map(({ length }) => length)).toEqual([1, 1]);
  const unlocked = await plain.get(`backups/${backupId}/manifest`);
  const content = (await bench.app.request('GET', `/api/v1/backups/${backupId}/export`, bench.as)).text;
  const path = '/api/v1/organizations/current/encryption-key/rotate';
  const rotated = await bench.app.request('POST', path, bench.as);
  expect(rotated.status, rotated.text).toBe(200);
  const rewritten = async () => Buffer.compare(await plain.get(`backups/${backupId}/manifest`), unlocked) !== 0;
  await expect.poll(rewritten).toBe(true);
  const waiting = () =>
    asOwner(bench.app.databaseUrl, async (client) => {
      const { rows } = await client.query(
        `select state, start_after from pgboss.job where name = 'backup-rewrap' and data->>'backupId' = $1 and state <> 'completed'`,
        [backupId],
      );
      return rows;
    });
  await expect.poll(async () => (await waiting()).map(({ state }) => state)).toEqual(['created']);
  const [{ start_after: startAfter }] = await waiting();
  expect(startAfter.getTime() - Date.now()).toBeGreaterThan(29 * 86_400_000);
  expect(manifests(backupId)).toEqual(before);
  expect((await bench.app.request('GET', `/api/v1/backups/${backupId}/export`, bench.as)).text).toBe(content);

  for (const place of [bucketOf('vault'), googleBucket()]) await expectReadByNewServer(place, backupId, content);
});

const googleBucket = () => {
  const credentials = { serviceAccountKey: google.control.createServiceAccount('sandbox') };
  return { name: 'Google', type: 'gcs', bucket: 'locking', credentials };
};

/** It has the bucket and the master key alone. */
async function expectReadByNewServer(place: object, backupId: string, content: string): Promise<void> {
  const fresh = await startTestApp(environment);
  try {
    const owner = await signUp(fresh, 'again@example.com');
    const as = { token: owner.token, organizationId: await foundOrganization(fresh, owner) };
    const created = await fresh.request('POST', '/api/v1/storage-destinations', { ...as, body: place });
    const rescan = `/api/v1/storage-destinations/${created.body.data.id}/rescan`;
    const started = await fresh.request('POST', rescan, as);
    const task = await untilEnded(fresh, started.headers.get('location') as string, as);
    expect(task, JSON.stringify(task)).toMatchObject({ status: 'completed', result: { registered: 1, failures: [] } });
    expect((await fresh.request('GET', `/api/v1/backups/${backupId}/export`, as)).text).toBe(content);
  } finally {
    await fresh.close();
  }
}

test('however quickly keys are rotated, the bucket and the master key open every manifest at every moment', async () => {
  const settings = { region: 'us-east-1', createdAtMs: Date.now(), versioning: 'Off' as const, objectLock: false };
  await s3.objects.saveBucket({ ...settings, name: 'far' });
  const id = await destination(bucketOf('far'));
  const backupIds: string[] = [];
  for (let count = 0; count < 3; count += 1) backupIds.push(await bench.backUp({ storageDestinationIds: [id] }));
  const connection = { region: 'us-east-1', endpoint: s3.endpoint, forcePathStyle: true };
  const far = await createS3Store({ kind: 's3', bucket: 'far', credentials: sandboxS3Credential, ...connection });
  const copyKeys = [copyKeyOf(Buffer.from(testMasterKey, 'base64'))];
  /** The manifests first: what opens them was put before them. */
  const look = async (): Promise<string[]> => {
    const manifests = await Promise.all(backupIds.map((one) => far.get(`backups/${one}/manifest`)));
    const { copies } = await readKeyCopies(far, copyKeys, { of: bench.as.organizationId });
    const ring = new KeyRing(copies.flatMap(({ keys }) => secretsOf(keys)));
    const envelopes = manifests.map((bytes) => new ManifestObject(bytes).clear().envelope);
    for (const [index, envelope] of envelopes.entries()) await ring.unwrap(backupIds[index]!, envelope);
    return envelopes.map(({ wrapped }) => wrapped);
  };
  const before = await look();
  s3.faults.set({ seed: 1, delayRate: 1, delayMsMin: 100, delayMsMax: 150 });
  for (let count = 0; count < 3; count += 1) {
    const rotated = await bench.app.request('POST', '/api/v1/organizations/current/encryption-key/rotate', bench.as);
    expect(rotated.status, rotated.text).toBe(200);
    await look();
  }
  const rows = () =>
    asOwner(bench.app.databaseUrl, async (client) => {
      const { rows } = await client.query('select envelope from backups where id = any($1) order by id', [backupIds]);
      return rows.map(({ envelope }) => envelope.wrapped as string);
    });
  const wanted = await rows();
  await expect.poll(look).toEqual(wanted);
  expect(wanted).not.toEqual(before);
  s3.faults.set({});
  await far.close();
});

/** What the database says of keys and backups, as it was when this was called. */
async function remember(tables: readonly string[]): Promise<() => Promise<void>> {
  const mine = [bench.as.organizationId];
  const rows = await asOwner(bench.app.databaseUrl, async (client) => {
    const found: [string, string][] = [];
    for (const table of tables) {
      const query = `select json_agg(t)::text as rows from ${table} t where organization_id = $1`;
      found.push([table, (await client.query(query, mine)).rows[0].rows]);
    }
    return found;
  });
  return () =>
    asOwner(bench.app.databaseUrl, async (client) => {
      await client.query('begin; set local session_replication_role = replica');
      for (const [table, before] of rows) {
        await client.query(`delete from ${table} where organization_id = $1`, mine);
        await client.query(`insert into ${table} select * from json_populate_recordset(null::${table}, $1)`, [before]);
      }
      await client.query('commit');
    });
}

test('a key that a database of an older day does not know is taken in from beside its backups, and never removed', async () => {
  const post = (path: string) => bench.app.request('POST', `/api/v1${path}`, bench.as);
  const rotate = async () => {
    const rotated = await post('/organizations/current/encryption-key/rotate');
    expect(rotated.status, rotated.text).toBe(200);
  };
  const goBack = await remember(['organization_keys', 'backups', 'backup_copies']);
  await rotate();
  const backupId = await bench.backUp({ storageDestinationIds: [ids.plain] });
  const content = (await bench.app.request('GET', `/api/v1/backups/${backupId}/export`, bench.as)).text;
  const copies = async () => {
    const { copies: found } = await readKeyCopies(plain, [copyKeyOf(Buffer.from(testMasterKey, 'base64'))]);
    return found.filter(({ organizationId }) => organizationId === bench.as.organizationId);
  };
  await expect.poll(async () => (await copies()).length).toBe(1);
  const known = (await copies())[0]!.keys.map(({ key }) => key);
  await goBack();
  await rotate();
  const keysNow = async () => (await copies()).map(({ keys }) => keys.map(({ key }) => key));
  const hasAll = async () => {
    const [only, ...more] = await keysNow();
    return more.length === 0 && only?.length === known.length + 1 && known.every((key) => only.includes(key));
  };
  await expect.poll(hasAll).toBe(true);
  const task = await untilEnded(
    bench.app,
    (await post(`/storage-destinations/${ids.plain}/rescan`)).headers.get('location') as string,
    bench.as,
  );
  expect(task, JSON.stringify(task)).toMatchObject({ status: 'completed', result: { registered: 1, failures: [] } });
  expect((await bench.app.request('GET', `/api/v1/backups/${backupId}/export`, bench.as)).text).toBe(content);
});

test('a purge takes the sealed keys first, and what a bucket keeps under lock is unreadable then', async () => {
  const { organizationId } = bench.as;
  const [inPlain, inVault] = [ids.plain, ids.vault].map((id) => bench.backUp({ storageDestinationIds: [id] }));
  const [first, locked] = [await inPlain!, await inVault!];
  const lies = (bucket: string, prefix: string) =>
    [...s3.objects.bucket(bucket).keys.entriesFrom(prefix)].some(
      ([key, versions]) => key.startsWith(prefix) && versions.some(({ isDeleteMarker }) => !isDeleteMarker),
    );
  expect([lies('plain', `keys/${organizationId}/`), lies('vault', `keys/${organizationId}/`)]).toEqual([true, true]);
  s3.faults.set({ delayRate: 1, delayMsMin: 300, delayMsMax: 300, operations: ['DeleteObjects'] });
  const seen = new Set<string>();
  const look = setInterval(() => {
    const keys = lies('plain', `keys/${organizationId}/`) ? 'keys' : 'no keys';
    seen.add(`${keys}, ${lies('plain', `backups/${first}/`) ? 'backup' : 'no backup'}`);
  }, 10);
  const { name } = await bench.get('/organizations/current');
  const body = { confirmName: name, force: true };
  await bench.app.request('POST', '/api/v1/organizations/current/delete', { ...bench.as, body });
  await expect.poll(() => lies('plain', `backups/${first}/`)).toBe(false);
  await expect.poll(() => lies('vault', `keys/${organizationId}/`)).toBe(false);
  clearInterval(look);
  s3.faults.clear();
  expect(seen).toContain('no keys, backup');
  expect(seen).not.toContain('keys, no backup');
  expect(lies('vault', `backups/${locked}/`)).toBe(true);
  await expect
    .poll(() => bench.app.logged())
    .toContain('a bucket kept objects of a purged organization; they are unreadable');
});

test('a bucket that locks whatever is put into it keeps the sealed keys of a purged organization: that is said, and they go when the lock has ended', async () => {
  const person = await signUp(bench.app, 'keeper@example.com');
  const organizationId = await foundOrganization(bench.app, person);
  const as = { token: person.token, organizationId };
  const added = await bench.app.request('POST', '/api/v1/storage-destinations', {
    ...as,
    body: { ...bucketOf('vault'), prefix: 'kept' },
  });
  expect([added.status, added.body.data?.status], added.text).toEqual([201, 'connected']);
  const prefix = `kept/keys/${organizationId}/`;
  const copies = () =>
    [...s3.objects.bucket('vault').keys.entriesFrom(prefix)].flatMap(([key, versions]) =>
      key.startsWith(prefix) ? versions : [],
    );
  const kept = () => copies().filter(({ isDeleteMarker }) => !isDeleteMarker);
  const copied = new RegExp(`organization-keys-copy.*${added.body.data.id}.*a job ended`);
  await expect.poll(() => bench.app.logged()).toMatch(copied);
  expect(kept().length).toBeGreaterThan(0);
  const retention = { mode: 'COMPLIANCE' as const, untilMs: Date.now() + 86_400_000 };
  for (const version of copies()) Object.assign(version, { retention });
  const body = { confirmName: `Organization ${organizationId}`, force: true };
  const gone = await bench.app.request('POST', '/api/v1/organizations/current/delete', { ...as, body });
  expect(gone.status, gone.text).toBe(200);
  const said =
    'keeps the sealed keys of a purged organization: with the master key its backups can be read until they go';
  await expect.poll(() => bench.app.logged()).toContain(said);
  expect(kept().length).toBeGreaterThan(0);
  for (const version of copies()) Object.assign(version, { retention: { ...retention, untilMs: 0 } });
  const itsTime = `update pgboss.job set start_after = now() where name = 'organization-objects-remove' and start_after > now() + interval '20 hours'`;
  await expect
    .poll(() => asOwner(bench.app.databaseUrl, async (owner) => (await owner.query(itsTime)).rowCount))
    .toBeGreaterThan(0);
  await expect.poll(() => kept().length).toBe(0);
});
