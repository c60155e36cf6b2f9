import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type ApiError, type Bucket, type FileMetadata, Storage } from '@google-cloud/storage';
import { OAuth2Client } from 'google-auth-library';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startProcess } from '../objects/testing.ts';
import { type GcsSandbox, startGcsSandbox } from './server.ts';

const mib = 1024 * 1024;
const folder = mkdtempSync(join(tmpdir(), 'sandbox-gcs-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function clientOf(sandbox: GcsSandbox, token = 'sandbox-token', autoRetry = false): Storage {
  const authClient = new OAuth2Client();
  authClient.setCredentials({ access_token: token, expiry_date: Date.now() + 3_600_000 });
  const storage = new Storage({
    projectId: 'sandbox',
    apiEndpoint: sandbox.endpoint,
    useAuthWithCustomEndpoint: true,
    authClient,
    retryOptions: { autoRetry, maxRetryDelay: 1 },
  });
  // The client drops its credentials when it begins a resumable upload at an endpoint that is not Google's.
  storage.interceptors.push({
    request(options) {
      options.headers = { ...options.headers, authorization: `Bearer ${token}` };
      return options as typeof options & { uri: string };
    },
  });
  return storage;
}

async function failure(
  promise: Promise<unknown>,
): Promise<{ code: number | string | undefined; reason: string | undefined }> {
  try {
    await promise;
  } catch (error) {
    const known = error as ApiError;
    return { code: known.code, reason: known.errors?.[0]?.reason };
  }
  return { code: 'no error', reason: undefined };
}

describe.each(['memory', 'disk'])('the official client against the %s sandbox', (mode) => {
  let sandbox: GcsSandbox;
  let storage: Storage;
  let bucket: Bucket;

  beforeAll(async () => {
    sandbox = await startGcsSandbox({ buckets: ['things'], ...(mode === 'disk' && { folder: join(folder, 'sdk') }) });
    storage = clientOf(sandbox);
    bucket = storage.bucket('things');
  });
  afterAll(() => sandbox.stop());

  test.each([true, false])('objects come back byte for byte with their metadata (resumable: %s)', async (resumable) => {
    const bytes = randomBytes(300_000);
    const file = bucket.file(`a/ü ~!*'()&=+$,;:@?[]"<>${resumable}`);
    await file.save(bytes, {
      resumable,
      metadata: { contentType: 'application/x-thing', cacheControl: 'no-store', metadata: { colour: 'red' } },
    });
    const [got] = await file.download();
    expect(got.equals(bytes)).toBe(true);
    const [metadata] = await file.getMetadata();
    expect(metadata).toMatchObject({
      size: '300000',
      contentType: 'application/x-thing',
      cacheControl: 'no-store',
      metadata: { colour: 'red' },
    });
    expect(metadata.md5Hash).toBeDefined();
    expect((await file.exists())[0]).toBe(true);
    await file.delete();
    expect((await file.exists())[0]).toBe(false);
    expect(await failure(file.download())).toMatchObject({ code: 404 });
    expect(await failure(file.getMetadata())).toEqual({ code: 404, reason: 'notFound' });
  });

  test('an empty object is an object', async () => {
    for (const resumable of [true, false]) {
      await bucket.file('empty').save(Buffer.alloc(0), { resumable });
      expect((await bucket.file('empty').download())[0]).toHaveLength(0);
    }
  });

  test('a large stream goes up in chunks and comes back whole', async () => {
    const bytes = randomBytes(5 * mib + 12_345);
    const file = bucket.file('chunked');
    await pipeline(
      [bytes.subarray(0, 2 * mib), bytes.subarray(2 * mib)],
      file.createWriteStream({ resumable: true, chunkSize: mib, validation: 'crc32c' }),
    );
    expect((await file.download())[0].equals(bytes)).toBe(true);
    const [part] = await file.download({ start: mib - 5, end: mib + 4 });
    expect(part.equals(bytes.subarray(mib - 5, mib + 5))).toBe(true);
    expect((await file.download({ start: bytes.length - 3 }))[0].equals(bytes.subarray(-3))).toBe(true);
    expect((await failure(file.download({ start: bytes.length, end: bytes.length + 5 }))).code).toBe(416);
  });

  test('of two writers that require a new object, one wins', async () => {
    const outcomes = await Promise.all(
      [1, 2, 3, 4].map((n) =>
        failure(
          bucket.file('once').save(`body ${n}`, { resumable: n % 2 === 0, preconditionOpts: { ifGenerationMatch: 0 } }),
        ),
      ),
    );
    expect(outcomes.filter((one) => one.code === 'no error')).toHaveLength(1);
    expect(outcomes.filter((one) => Number(one.code) === 412)).toHaveLength(3);
    const [{ generation }] = await bucket.file('once').getMetadata();
    expect(
      (await failure(bucket.file('once').save('x', { resumable: false, preconditionOpts: { ifGenerationMatch: 123 } })))
        .code,
    ).toBe(412);
    await bucket
      .file('once')
      .save('next', { resumable: false, preconditionOpts: { ifGenerationMatch: generation as string } });
    expect((await failure(bucket.file('once', { generation: generation as string }).download())).code).toBe(404);
  });

  test('wrong digests are refused and nothing is stored', async () => {
    const md5Hash = Buffer.alloc(16).toString('base64');
    expect(
      await failure(bucket.file('wrong').save('x', { resumable: false, validation: false, metadata: { md5Hash } })),
    ).toEqual({ code: 400, reason: 'invalid' });
    const url = `${sandbox.endpoint}/upload/storage/v1/b/things/o?uploadType=media&name=wrong`;
    const headers = { authorization: 'Bearer sandbox-token', 'x-goog-hash': 'crc32c=AAAAAA==' };
    expect((await fetch(url, { method: 'POST', body: 'x', headers })).status).toBe(400);
    const right = await fetch(url, {
      method: 'POST',
      body: '123456789',
      headers: { ...headers, 'x-goog-hash': 'crc32c=4waSgw==' },
    });
    expect(await right.json()).toMatchObject({ size: '9', crc32c: '4waSgw==' });
    await bucket.file('wrong').delete();
  });

  test('listing pages through all names in order and folds at a delimiter', async () => {
    const [listed] = await storage.createBucket('listed');
    const names = [
      ...Array.from({ length: 25 }, (_, n) => `a/${String(n).padStart(3, '0')}`),
      'b',
      'c/x/1',
      'c/x/2',
      'é',
      '\uffee',
      '😀',
    ];
    await Promise.all(names.map((name) => listed.file(name).save(name, { resumable: false })));
    const sorted = names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    for (const maxResults of [4, 1000]) {
      const [files] = await listed.getFiles({ maxResults: 1000 });
      expect(files.map((file) => file.name)).toEqual(sorted);
      const paged: string[] = [];
      let query: object | null = { maxResults, autoPaginate: false };
      while (query) {
        const [page, next]: [{ name: string }[], object | null, unknown] = (await listed.getFiles(query)) as never;
        paged.push(...page.map((file) => file.name));
        query = next;
      }
      expect(paged).toEqual(sorted);
    }
    const [top, , answer] = await listed.getFiles({ delimiter: '/', autoPaginate: false });
    expect(top.map((file) => file.name)).toEqual(['b', 'é', '\uffee', '😀']);
    expect((answer as { prefixes: string[] }).prefixes).toEqual(['a/', 'c/']);
    const [some] = await listed.getFiles({ prefix: 'a/', startOffset: 'a/022' });
    expect(some.map((file) => file.name)).toEqual(['a/022', 'a/023', 'a/024']);
    expect((await failure(listed.delete())).code).toBe(409);
    await listed.deleteFiles();
    await listed.delete();
    expect((await storage.getBuckets())[0].map((one) => one.name)).toEqual(['things']);
  });

  test('copies and compositions keep their bytes when the sources are deleted', async () => {
    const bytes = randomBytes(100_000);
    await bucket.file('source').save(bytes, { metadata: { metadata: { a: '1' } } });
    await bucket.file('source').copy(bucket.file('copied'));
    await bucket.combine(['source', 'copied'], 'combined');
    await bucket.file('source').delete();
    expect((await bucket.file('copied').download())[0].equals(bytes)).toBe(true);
    expect((await bucket.file('copied').getMetadata())[0].metadata).toEqual({ a: '1' });
    expect((await bucket.file('combined').download())[0].equals(Buffer.concat([bytes, bytes]))).toBe(true);
    const [{ componentCount, md5Hash }] = await bucket.file('combined').getMetadata();
    expect({ componentCount, md5Hash }).toEqual({ componentCount: 2, md5Hash: undefined });
  });

  test('metadata changes raise the metageneration and can be made conditional', async () => {
    const file = bucket.file('described');
    await file.save('x', { metadata: { metadata: { keep: '1', drop: '2' } } });
    const [{ metageneration }] = await file.setMetadata({ metadata: { drop: null, add: '3' } });
    expect(metageneration).toBe('2');
    expect((await file.getMetadata())[0].metadata).toEqual({ keep: '1', add: '3' });
    expect((await failure(file.setMetadata({ contentType: 'a/b' }, { ifMetagenerationMatch: 1 }))).code).toBe(412);
  });
});

describe('protection', () => {
  let nowMs = Date.parse('2026-01-01T00:00:00Z');
  let sandbox: GcsSandbox;
  let storage: Storage;
  const dayMs = 24 * 3600 * 1000;

  beforeAll(async () => {
    sandbox = await startGcsSandbox({ now: () => nowMs });
    storage = clientOf(sandbox);
  });
  afterAll(() => sandbox.stop());

  test('a hold keeps an object from deletion and replacement until it is lifted', async () => {
    const [bucket] = await storage.createBucket('held');
    const file = bucket.file('x');
    await file.save('x', { resumable: false });
    for (const hold of ['temporaryHold', 'eventBasedHold']) {
      await file.setMetadata({ [hold]: true });
      expect(await failure(file.delete())).toEqual({ code: 403, reason: 'objectUnderActiveHold' });
      expect((await failure(file.save('y', { resumable: false }))).code).toBe(403);
      await file.setMetadata({ [hold]: false });
    }
    await file.delete();
  });

  test("a bucket's retention policy keeps objects for their time, and a locked one cannot be shortened", async () => {
    const [bucket] = await storage.createBucket('retained');
    await bucket.setRetentionPeriod(3600);
    await bucket.file('x').save('x', { resumable: false });
    expect(await failure(bucket.file('x').delete())).toEqual({ code: 403, reason: 'retentionPolicyNotMet' });
    const [{ metageneration }] = await bucket.getMetadata();
    await bucket.lock(metageneration as string);
    expect((await failure(bucket.setRetentionPeriod(60))).code).toBe(403);
    expect((await failure(bucket.removeRetentionPeriod())).code).toBe(403);
    nowMs += 3_601_000;
    await bucket.file('x').delete();
  });

  test('a locked retention of one object can only expire, and an unlocked one can be removed explicitly', async () => {
    const [bucket] = await storage.createBucket('locked', { enableObjectRetention: true });
    const retainUntilTime = new Date(nowMs + dayMs).toISOString();
    const file = bucket.file('x');
    await file.save('x', {
      resumable: false,
      metadata: { retention: { mode: 'Locked', retainUntilTime } } as FileMetadata,
    });
    expect(await failure(file.delete())).toEqual({ code: 403, reason: 'retentionPolicyNotMet' });
    expect((await failure(file.save('y', { resumable: true }))).code).toBe(403);
    expect((await failure(file.setMetadata({ retention: null }, { overrideUnlockedRetention: true }))).code).toBe(403);
    const free = bucket.file('free');
    await free.save('x', {
      resumable: false,
      metadata: { retention: { mode: 'Unlocked', retainUntilTime } } as FileMetadata,
    });
    expect((await failure(free.setMetadata({ retention: null }))).code).toBe(403);
    await free.setMetadata({ retention: null }, { overrideUnlockedRetention: true });
    await free.delete();
    nowMs += dayMs + 1000;
    await file.delete();
  });
});

describe('callers, strictness and faults', () => {
  let sandbox: GcsSandbox;
  beforeAll(async () => {
    sandbox = await startGcsSandbox({
      buckets: ['one', 'two'],
      callers: [{ token: 'sandbox-token' }, { token: 'reader', buckets: ['one'], deny: ['UploadMultipart'] }],
      isTokenValid: (token) => token === 'issued-elsewhere',
    });
  });
  afterAll(() => sandbox.stop());

  test('a bearer token gives the access of its caller, and without one nothing is allowed', async () => {
    await clientOf(sandbox).bucket('one').file('x').save('x', { resumable: false });
    const reader = clientOf(sandbox, 'reader');
    expect(String((await reader.bucket('one').file('x').download())[0])).toBe('x');
    expect((await failure(reader.bucket('one').file('x').save('y', { resumable: false }))).code).toBe(403);
    expect((await failure(reader.bucket('two').getFiles())).code).toBe(403);
    expect(await failure(clientOf(sandbox, 'expired').bucket('one').getFiles())).toEqual({
      code: 401,
      reason: 'authError',
    });
    await clientOf(sandbox, 'issued-elsewhere').bucket('one').getFiles();
    expect((await fetch(`${sandbox.endpoint}/storage/v1/b/one/o`)).status).toBe(401);
  });

  test('unsupported requests are refused, never ignored', async () => {
    const storage = clientOf(sandbox);
    expect(
      await failure(storage.bucket('one').file('x').save('x', { resumable: false, predefinedAcl: 'publicRead' })),
    ).toEqual({ code: 501, reason: 'notImplemented' });
    expect((await failure(storage.bucket('one').getFiles({ matchGlob: '*' }))).code).toBe(501);
    expect((await failure(storage.bucket('one').file('x').setMetadata({ storageClass: 'COLDLINE' }))).code).toBe(501);
    expect((await failure(storage.bucket('one').iam.getPolicy())).code).toBe(501);
  });

  test('a resumable upload reports its position, accepts whole units, and can be cancelled', async () => {
    const authorization = 'Bearer sandbox-token';
    const start = await fetch(`${sandbox.endpoint}/upload/storage/v1/b/one/o?uploadType=resumable&name=steps`, {
      method: 'POST',
      headers: { authorization },
    });
    const session = start.headers.get('location')!;
    const put = (range: string, body?: Buffer) =>
      fetch(session, { method: 'PUT', headers: { 'content-range': range }, ...(body && { body }) });
    expect((await put('bytes */*')).headers.get('range')).toBeNull();
    expect((await put('bytes 0-99999/*', randomBytes(100_000))).status).toBe(400);
    const unit = randomBytes(256 * 1024);
    const first = await put(`bytes 0-${unit.length - 1}/*`, unit);
    expect([first.status, first.headers.get('range')]).toEqual([308, `bytes=0-${unit.length - 1}`]);
    expect((await put('bytes */*')).headers.get('range')).toBe(`bytes=0-${unit.length - 1}`);
    expect((await put(`bytes 0-${unit.length - 1}/*`, unit)).status).toBe(400);
    const last = await put(`bytes ${unit.length}-${unit.length + 9}/${unit.length + 10}`, randomBytes(10));
    expect(await last.json()).toMatchObject({ name: 'steps', size: String(unit.length + 10) });
    expect((await put('bytes */*')).status).toBe(200);
    const other = await fetch(`${sandbox.endpoint}/upload/storage/v1/b/one/o?uploadType=resumable&name=gone`, {
      method: 'POST',
      headers: { authorization },
    });
    expect((await fetch(other.headers.get('location')!, { method: 'DELETE', headers: { authorization } })).status).toBe(
      499,
    );
    expect((await fetch(other.headers.get('location')!, { method: 'PUT', body: 'x' })).status).toBe(404);
  });

  test('under errors and throttling the client with its retries still gets everything right', async () => {
    const storage = clientOf(sandbox, 'sandbox-token', true);
    sandbox.faults.set({ seed: 3, errorRate: 0.15, throttleRate: 0.1, delayRate: 0.1, delayMsMax: 5 });
    const bytes = randomBytes(2 * mib);
    let right = 0;
    for (let index = 0; index < 4; index++) {
      const file = storage.bucket('one').file(`faulty/${index}`);
      const saved = await failure(
        file.save(bytes, { resumable: index % 2 === 0, chunkSize: mib, preconditionOpts: { ifGenerationMatch: 0 } }),
      );
      if (saved.code === 'no error') right++;
    }
    sandbox.faults.clear();
    expect(right).toBe(4);
    for (const file of (await storage.bucket('one').getFiles({ prefix: 'faulty/' }))[0])
      expect((await file.download())[0].equals(bytes)).toBe(true);
  });
});

test('acknowledged changes in disk mode survive a restart, and nothing is left over', async () => {
  const where = join(folder, 'restart');
  const first = await startGcsSandbox({ folder: where, buckets: ['kept'] });
  const bytes = randomBytes(mib);
  await clientOf(first).bucket('kept').file('x').save(bytes);
  await clientOf(first).bucket('kept').file('gone').save('y');
  await clientOf(first).bucket('kept').file('gone').delete();
  await first.stop();
  const second = await startGcsSandbox({ folder: where });
  expect((await clientOf(second).bucket('kept').file('x').download())[0].equals(bytes)).toBe(true);
  expect(readdirSync(join(where, 'data'))).toHaveLength(1);
  await second.stop();
});

test('it runs as a separate process', async () => {
  const { endpoint, stop } = await startProcess(new URL('main.ts', import.meta.url), '--token', 'secret');
  const [buckets] = await clientOf({ endpoint } as GcsSandbox, 'secret').getBuckets();
  expect(buckets.map((bucket) => bucket.name)).toEqual(['mine']);
  expect(await stop()).toBe(0);
});
