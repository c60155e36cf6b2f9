import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type S3Credential, type S3Sandbox, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { failure } from '../../testing/failure.ts';
import { createStoreNetwork } from '../network.ts';
import { probeStore } from '../probe.ts';
import { listS3Buckets } from './buckets.ts';
import { createS3Client } from './client.ts';
import { createS3Store, type S3StoreOptions } from './s3-store.ts';

const bytes = new TextEncoder().encode('content');
const mib = 1024 * 1024;
const keys: S3Credential[] = [
  { accessKeyId: 'full', secretAccessKey: 'f' },
  { accessKeyId: 'no-delete', secretAccessKey: 'n', deny: ['DeleteObjects', 'DeleteObject'] },
  { accessKeyId: 'one-by-one', secretAccessKey: 'b', deny: ['DeleteObjects'] },
  { accessKeyId: 'no-question', secretAccessKey: 'q', deny: ['GetObjectLockConfiguration'] },
  { accessKeyId: 'one-bucket', secretAccessKey: 'o', buckets: ['one'] },
];

describe('an S3 store', () => {
  let sandbox: S3Sandbox;
  beforeAll(async () => {
    sandbox = await startS3Sandbox({ buckets: ['one', 'two'], credentials: keys });
  });
  afterAll(() => sandbox.stop());

  const options = (more: Partial<S3StoreOptions> = {}): S3StoreOptions => ({
    kind: 's3',
    region: 'us-east-1',
    bucket: 'one',
    endpoint: sandbox.endpoint,
    forcePathStyle: true,
    credentials: { accessKeyId: 'full', secretAccessKey: 'f' },
    retry: { attemptsMax: 6, delayMsMin: 1, delayMsMax: 3 },
    partBytes: 5 * mib,
    ...more,
  });

  test('tells wrong keys, wrong buckets and wrong regions apart, without repeating', async () => {
    const wrongSecret = createS3Store(options({ credentials: { accessKeyId: 'full', secretAccessKey: 'x' } }));
    expect((await failure(wrongSecret.get('a'))).code).toBe('STORAGE_PERMISSION_DENIED');
    const unknownKey = createS3Store(options({ credentials: { accessKeyId: 'who', secretAccessKey: 'x' } }));
    expect((await failure(unknownKey.put('a', bytes))).code).toBe('STORAGE_PERMISSION_DENIED');
    const noBucket = createS3Store(options({ bucket: 'none' }));
    expect((await failure(noBucket.put('a', bytes))).code).toBe('STORAGE_UNAVAILABLE');
    const wrongRegion = createS3Store(options({ region: 'eu-west-1' }));
    const error = await failure(wrongRegion.put('a', bytes));
    expect([error.code, error.message]).toEqual(['VALIDATION_ERROR', expect.stringContaining("expecting 'us-east-1'")]);
    const nobody = createS3Store(options({ endpoint: 'http://127.0.0.1:1' }));
    expect((await failure(nobody.get('a'))).code).toBe('STORAGE_UNAVAILABLE');
  });

  test('an error names the place but never the secret', async () => {
    const store = createS3Store(options({ credentials: { accessKeyId: 'full', secretAccessKey: 'very-secret' } }));
    const error = await failure(store.get('a'));
    expect(JSON.stringify([error.message, error.details])).not.toContain('very-secret');
    expect(error.message).toContain('s3://one/');
  });

  test('a probe reports the step that fails and why', async () => {
    const store = createS3Store(options({ credentials: { accessKeyId: 'no-delete', secretAccessKey: 'n' } }));
    const steps = await probeStore(store);
    expect(steps.map(({ name, ok }) => [name, ok])).toEqual([
      ['write', true],
      ['read', true],
      ['range', true],
      ['list', true],
      ['delete', false],
    ]);
    expect(steps.at(-1)?.error?.code).toBe('STORAGE_PERMISSION_DENIED');
    const wrong = await probeStore(createS3Store(options({ bucket: 'none' })));
    expect(wrong.map(({ name, ok }) => [name, ok])).toEqual([['write', false]]);
  });

  test('where many may not be deleted at once they go one by one', async () => {
    const store = createS3Store(options({ credentials: { accessKeyId: 'one-by-one', secretAccessKey: 'b' } }));
    const all = Array.from({ length: 40 }, (_, index) => `single/${index}`);
    for (const key of all) await store.put(key, bytes);
    await store.delete([...all, 'single/never-there']);
    for (const key of all) expect(await store.head(key)).toBeUndefined();
  });

  test('credentials that may not ask for object lock are told the permission, not that it is missing', async () => {
    const store = createS3Store(options({ credentials: { accessKeyId: 'no-question', secretAccessKey: 'q' } }));
    const error = await failure(store.lockAbility());
    expect([error.code, error.message]).toEqual([
      'STORAGE_PERMISSION_DENIED',
      expect.stringMatching(/is not known: the credentials lack s3:GetBucketObjectLockConfiguration/),
    ]);
    expect((await failure(createS3Store(options({ bucket: 'none' })).lockAbility())).code).toBe('STORAGE_UNAVAILABLE');
    const wrongSecret = createS3Store(options({ credentials: { accessKeyId: 'full', secretAccessKey: 'x' } }));
    expect((await failure(wrongSecret.lockAbility())).message).toContain('secret of the access key is wrong');
  });

  test.each([
    [501, '<Error><Code>NotImplemented</Code><Message>no</Message></Error>'],
    [405, '<Error><Code>MethodNotAllowed</Code><Message>no</Message></Error>'],
    [400, '<Error><Code>InvalidArgument</Code><Message>no</Message></Error>'],
    [404, ''],
    [200, '<ListBucketResult><Name>one</Name><IsTruncated>false</IsTruncated></ListBucketResult>'],
  ])('a service that never heard of object lock and answers %i cannot lock', async (status, body) => {
    const server = createServer((request, response) => {
      const isQuestion = request.url?.includes('object-lock') === true;
      response.writeHead(isQuestion ? status : 500, { 'content-type': 'application/xml' }).end(isQuestion ? body : '');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const store = createS3Store(options({ endpoint }));
    expect(await store.lockAbility()).toEqual({ canLock: false, reason: expect.stringMatching(/does not know/) });
    await store.close();
    server.close();
  });

  test('the buckets that the credentials see are listed for the form', async () => {
    const { bucket: _, ...connection } = options();
    expect(await listS3Buckets(connection)).toEqual(['one', 'two']);
    expect(
      await listS3Buckets({ ...connection, credentials: { accessKeyId: 'one-bucket', secretAccessKey: 'o' } }),
    ).toEqual(['one']);
    const error = await failure(
      listS3Buckets({ ...connection, credentials: { accessKeyId: 'x', secretAccessKey: 'o' } }),
    );
    expect(error.code).toBe('STORAGE_PERMISSION_DENIED');
  });

  test('addresses that are not allowed are never dialled, by number or by name', async () => {
    const asked: string[] = [];
    const guarded = (endpoint: string) => {
      const isAllowed = (address: string) => {
        asked.push(address);
        return !address.startsWith('127.') && address !== '::1';
      };
      return createS3Store(options({ endpoint, network: createStoreNetwork({ isAllowed }) }));
    };
    sandbox.faults.clear();
    const before = sandbox.faults.counts.requests;
    for (const host of ['127.0.0.1', 'localhost']) {
      const error = await failure(guarded(`http://${host}:${sandbox.port}`).put('a', bytes));
      expect([error.code, error.message]).toEqual(['VALIDATION_ERROR', `Connections to ${host} are not allowed.`]);
    }
    expect(asked).toContain('127.0.0.1');
    expect(sandbox.faults.counts.requests).toBe(before);
    const open = createS3Store(
      options({ endpoint: `http://localhost:${sandbox.port}`, network: createStoreNetwork({ isAllowed: () => true }) }),
    );
    await open.put('guarded', bytes);
    await open.close();
  });

  test('a bucket that keeps versions hides what is removed and says so; only a purge leaves nothing', async () => {
    await sandbox.objects.saveBucket({
      name: 'keeping',
      region: 'us-east-1',
      createdAtMs: Date.now(),
      versioning: 'Enabled',
      objectLock: false,
    });
    const store = createS3Store(options({ bucket: 'keeping' }));
    const versions = () =>
      sandbox.objects
        .bucket('keeping')
        .keys.get('a')
        ?.map((version) => version.isDeleteMarker);
    await store.put('a', bytes);
    expect(await store.delete(['a'])).toEqual({ versionsKept: true, bucketKeepsVersions: true });
    expect(await store.head('a')).toBeUndefined();
    expect(versions()).toHaveLength(2);
    expect(await store.delete(['a'], { purge: true })).toEqual({ versionsKept: false, bucketKeepsVersions: true });
    expect(versions() ?? []).toEqual([]);
    const plain = createS3Store(options());
    await plain.put('a', bytes);
    expect(await plain.delete(['a'])).toEqual({ versionsKept: false, bucketKeepsVersions: false });
  });

  test('large objects go up in parts, and a lost answer to the last request is found out', {
    tags: 'long',
  }, async () => {
    const store = createS3Store(options());
    const large = new Uint8Array(12 * mib).fill(3);
    sandbox.faults.set({ lostAckRate: 1, operations: ['CompleteMultipartUpload'], harmedMax: 1 });
    const info = await store.put('large', large, { ifAbsent: true });
    expect(sandbox.faults.counts.lostAcks).toBe(1);
    sandbox.faults.clear();
    expect(info).toMatchObject({ size: large.length, etag: expect.stringMatching(/-3"$/) });
    expect(Buffer.compare(await store.get('large'), large)).toBe(0);
    const uploads = sandbox.objects.bucket('one').uploads;
    expect(uploads.size).toBe(0);
    const other = await failure(store.put('large', new Uint8Array(12 * mib), { ifAbsent: true }));
    expect([other.code, uploads.size]).toEqual(['STORAGE_CONFLICT', 0]);
  });

  test('a cancelled large upload leaves no parts behind', async () => {
    const store = createS3Store(options());
    sandbox.faults.set({ delayRate: 1, delayMsMin: 200, delayMsMax: 200, operations: ['UploadPart'] });
    const controller = new AbortController();
    const stopped = failure(store.put('stopped', new Uint8Array(12 * mib), { signal: controller.signal }));
    // While its parts are on their way, however slow the machine is.
    await expect.poll(() => sandbox.faults.counts.delays).toBeGreaterThan(0);
    controller.abort();
    const error = await stopped;
    sandbox.faults.clear();
    expect(error.code).toBe('CANCELLED');
    expect(await store.head('stopped')).toBeUndefined();
    expect(sandbox.objects.bucket('one').uploads.size).toBe(0);
  });

  test('bytes that keep coming back wrong are an integrity error, not data', async () => {
    const store = createS3Store(options());
    await store.put('rotten', bytes);
    sandbox.faults.set({ corruptReadRate: 1 });
    expect((await failure(store.get('rotten'))).code).toBe('INTEGRITY_ERROR');
    sandbox.faults.clear();
  });

  test('the address of spaces follows from the region, and a custom one must be an address', async () => {
    const { client } = createS3Client({ kind: 'spaces', region: 'fra1', credentials: keys[0]! });
    const endpoint = await client.config.endpoint!();
    expect(`${endpoint.protocol}//${endpoint.hostname}`).toBe('https://fra1.digitaloceanspaces.com');
    for (const odd of ['ftp://x', 'nonsense', 'http://user:pass@host', 'http://host?x=1'])
      expect(() => createS3Store(options({ endpoint: odd }))).toThrow('endpoint');
    expect(() => createS3Store(options({ region: 'a/../b' }))).toThrow('region');
  });
});
