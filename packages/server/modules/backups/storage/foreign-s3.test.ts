import {
  CreateBucketCommand,
  GetObjectRetentionCommand,
  ListObjectVersionsCommand,
  PutBucketPolicyCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ForeignS3, isForeignS3Installed, startForeignS3 } from '../../../../engine/testing/foreign-s3.ts';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { fences } from '../../../testing/documentation.ts';
import { untilEnded } from '../../../testing/protected-project.ts';

/** What the service promises of buckets, asked of a storage that nobody here wrote. */
describe.skipIf(!isForeignS3Installed)('the service on an S3 of other hands', { timeout: 120_000 }, () => {
  let foreign: ForeignS3;
  let client: S3Client;
  let bench: BackupBench;
  beforeAll(async () => {
    [foreign, bench] = await Promise.all([
      startForeignS3(),
      startBackupBench({ ...hasty, OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' }),
    ]);
    const { endpoint, credentials } = foreign;
    client = new S3Client({ endpoint, credentials: { ...credentials }, region: 'us-east-1', forcePathStyle: true });
    for (const Bucket of ['plain', 'other', 'versions']) await client.send(new CreateBucketCommand({ Bucket }));
    await client.send(new CreateBucketCommand({ Bucket: 'vault', ObjectLockEnabledForBucket: true }));
    const VersioningConfiguration = { Status: 'Enabled' as const };
    await client.send(new PutBucketVersioningCommand({ Bucket: 'versions', VersioningConfiguration }));
    await bench.firestore.doc('users/ada').set({ n: 1 });
  }, 240_000);
  afterAll(async () => {
    client?.destroy();
    await bench?.close();
    await foreign?.stop();
  });

  const add = (more: object = {}) =>
    bench.app.request('POST', '/api/v1/storage-destinations', {
      ...bench.as,
      body: {
        name: 'Bucket',
        type: 's3',
        bucket: 'plain',
        region: 'us-east-1',
        endpoint: foreign.endpoint,
        forcePathStyle: true,
        credentials: foreign.credentials,
        ...more,
      },
    });

  async function destination(more: object = {}): Promise<string> {
    const made = await add(more);
    expect([made.status, made.body.data?.status], made.text).toEqual([201, 'connected']);
    return made.body.data.id;
  }

  const start = (id: string, kind: string, body?: object) =>
    bench.app.request('POST', `/api/v1/storage-destinations/${id}/${kind}`, { ...bench.as, ...(body ? { body } : {}) });

  async function runTask(id: string, kind: string, body?: object) {
    const started = await start(id, kind, body);
    expect(started.status, started.text).toBe(202);
    return untilEnded(bench.app, started.headers.get('location') as string, bench.as);
  }

  /** Versions and marks below a folder of the bucket. */
  async function versions(Bucket: string, Prefix: string): Promise<{ data: string[]; marks: string[] }> {
    const found = await client.send(new ListObjectVersionsCommand({ Bucket, Prefix }));
    const keys = (entries: { Key?: string | undefined }[] = []) => entries.map(({ Key }) => Key!);
    return { data: keys(found.Versions), marks: keys(found.DeleteMarkers) };
  }

  const exported = async (id: string) =>
    (await bench.app.request('GET', `/api/v1/backups/${id}/export`, bench.as)).text;

  async function removed(id: string): Promise<void> {
    const answer = await bench.app.request('DELETE', `/api/v1/backups/${id}`, bench.as);
    expect(answer.status, answer.text).toBe(200);
    const rows = async () =>
      (await bench.get('/audit-logs?action=backup.objects_removed')).map(
        ({ resource }: { resource: { id: string } }) => resource.id,
      );
    await expect.poll(rows).toContain(id);
  }

  test.each([
    ['a bucket that is not there', () => ({ bucket: 'nowhere' }), 'STORAGE_UNAVAILABLE', /no bucket at s3:\/\/nowhere/],
    [
      'an unknown key',
      () => ({ credentials: { ...foreign.credentials, accessKeyId: 'somebody' } }),
      'STORAGE_PERMISSION_DENIED',
      /does not know this access key/,
    ],
    [
      'a wrong secret',
      () => ({ credentials: { ...foreign.credentials, secretAccessKey: 'wrong' } }),
      'STORAGE_PERMISSION_DENIED',
      /secret of the access key is wrong/,
    ],
    [
      'a lock that the bucket does not take',
      () => ({ objectLock: { mode: 'compliance', days: 1 } }),
      'STORAGE_UNAVAILABLE',
      /lock/i,
    ],
  ] as const)('%s is told so that a person can mend it', async (_name, more, code, message) => {
    const { body, text } = await add(more());
    expect(body.data, text).toMatchObject({
      status: 'error',
      error: { code, message: expect.stringMatching(message) },
    });
    expect(text).not.toContain('UnknownError');
  });

  test('a chain goes into a bucket, moves to another one and comes back; what is not ours stays', async () => {
    const id = await destination();
    const full = await bench.backUp({ storageDestinationId: id });
    await bench.firestore.doc('users/bob').set({ n: 2 });
    const increment = await bench.backUp({ type: 'incremental', storageDestinationId: id });
    const before = await Promise.all([full, increment].map(exported));
    await client.send(new PutObjectCommand({ Bucket: 'plain', Key: 'backups/notes.txt', Body: 'theirs' }));
    const twin = await destination({
      name: 'The same by another name',
      endpoint: foreign.endpoint.replace('127.0.0.1', 'localhost'),
    });
    expect((await start(id, 'migrate', { toStorageDestinationId: twin })).status).toBe(409);
    const other = await destination({ name: 'Other', bucket: 'other' });
    const moved = await runTask(id, 'migrate', { toStorageDestinationId: other });
    expect(moved, JSON.stringify(moved)).toMatchObject({ status: 'completed' });
    expect(await Promise.all([full, increment].map(exported))).toEqual(before);
    expect((await versions('plain', 'backups/')).data).toEqual(['backups/notes.txt']);
    expect((await runTask(id, 'sweep')).status).toBe('completed');
    expect((await versions('plain', 'backups/')).data).toEqual(['backups/notes.txt']);
  });

  test('a younger increment prolongs the locks of its base, and nothing that is locked goes', async () => {
    const id = await destination({ name: 'Vault', bucket: 'vault', objectLock: { mode: 'governance', days: 1 } });
    const base = await bench.backUp({ storageDestinationId: id });
    const { data } = await versions('vault', `backups/${base}/`);
    expect(data.length).toBeGreaterThan(1);
    const ends = () =>
      Promise.all(
        data.map(async (Key) => {
          const { Retention } = await client.send(new GetObjectRetentionCommand({ Bucket: 'vault', Key }));
          return Retention!.RetainUntilDate!.getTime();
        }),
      );
    const before = await ends();
    await bench.firestore.doc('users/cat').set({ n: 3 });
    const increment = await bench.run({ type: 'incremental', storageDestinationId: id });
    expect(increment, JSON.stringify(increment.warnings)).toMatchObject({ status: 'completed', type: 'incremental' });
    const after = await ends();
    for (const [index, end] of after.entries()) expect(end).toBeGreaterThan(before[index]!);
    const refused = await bench.app.request('DELETE', `/api/v1/backups/${increment.id}`, bench.as);
    expect(refused.status, refused.text).toBe(409);
  });

  test('with no more than the policy of the documentation allows, everything works, and beside the prefix nothing', async () => {
    const page = 'docs/firebase.md';
    const policy = fences(page).find(
      ({ language, lines }) => language === 'json' && lines.join('').includes('"s3:PutObject"'),
    );
    const { Statement, ...rest } = JSON.parse(policy!.lines.join('\n').replaceAll('acme-backups', 'narrow'));
    const Principal = { AWS: ['arn:aws:iam:::user/narrow'] };
    const allowed = { ...rest, Statement: Statement.map((one: object) => ({ ...one, Principal })) };
    await client.send(new CreateBucketCommand({ Bucket: 'narrow', ObjectLockEnabledForBucket: true }));
    await client.send(new PutBucketPolicyCommand({ Bucket: 'narrow', Policy: JSON.stringify(allowed) }));
    const credentials = await foreign.addUser('narrow');
    const beside = await add({ name: 'Beside', bucket: 'narrow', prefix: 'elsewhere', credentials });
    expect(beside.body.data, beside.text).toMatchObject({
      status: 'error',
      error: { code: 'STORAGE_PERMISSION_DENIED', details: { step: 'write' } },
    });
    const id = await destination({ name: 'Narrow', bucket: 'narrow', prefix: 'holdfast', credentials });
    const living = await bench.backUp({ storageDestinationId: id });
    const gone = await bench.backUp({ storageDestinationId: id });
    const before = await exported(living);
    await removed(gone);
    const purged = await runTask(id, 'purge');
    expect(purged, JSON.stringify(purged)).toMatchObject({ status: 'completed', result: { locked: 0, failures: [] } });
    expect((await versions('narrow', `holdfast/backups/${gone}/`)).data).toEqual([]);
    const lock = { objectLock: { mode: 'governance', days: 1 } };
    const changed = await bench.app.request('PATCH', `/api/v1/storage-destinations/${id}`, { ...bench.as, body: lock });
    expect([changed.status, changed.body.data?.status], changed.text).toEqual([200, 'connected']);
    const base = await bench.backUp({ storageDestinationId: id });
    await bench.firestore.doc('users/dan').set({ n: 4 });
    const increment = await bench.run({ type: 'incremental', storageDestinationId: id });
    expect(increment, JSON.stringify(increment)).toMatchObject({
      status: 'completed',
      parentId: base,
      warnings: [],
    });
    expect((await runTask(id, 'sweep')).status).toBe('completed');
    expect((await runTask(id, 'rescan')).status).toBe('completed');
    expect(await exported(living)).toBe(before);
  });

  test('in a bucket that keeps versions a deleted backup is hidden until it is purged, and what lives stays', async () => {
    const id = await destination({ name: 'Versions', bucket: 'versions' });
    const living = await bench.backUp({ storageDestinationId: id });
    const gone = await bench.backUp({ storageDestinationId: id });
    const before = await exported(living);
    await removed(gone);
    const hidden = await versions('versions', `backups/${gone}/`);
    expect(hidden.data.length).toBeGreaterThan(1);
    expect(hidden.marks.toSorted()).toEqual(hidden.data.toSorted());
    const purged = await runTask(id, 'purge');
    expect(purged, JSON.stringify(purged)).toMatchObject({ status: 'completed', result: { locked: 0, failures: [] } });
    expect(await versions('versions', `backups/${gone}/`)).toEqual({ data: [], marks: [] });
    expect(await exported(living)).toBe(before);
  });
});
