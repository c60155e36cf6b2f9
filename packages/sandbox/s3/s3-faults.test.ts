import { randomBytes } from 'node:crypto';
import {
  GetObjectCommand,
  HeadObjectCommand,
  ListBucketsCommand,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startProcess } from '../objects/testing.ts';
import { type S3Sandbox, startS3Sandbox } from './server.ts';
import { bodyOf, clientOf, failure } from './testing.ts';

describe('faults on command', () => {
  const Bucket = 'things';
  const bytes = randomBytes(200_000);
  let sandbox: S3Sandbox;
  let s3: S3Client;
  beforeAll(async () => {
    sandbox = await startS3Sandbox({ buckets: [Bucket] });
    s3 = clientOf(sandbox);
    await s3.send(new PutObjectCommand({ Bucket, Key: 'x', Body: bytes }));
  });
  afterEach(() => sandbox.faults.clear());
  afterAll(() => sandbox.stop());

  const get = async () => bodyOf(await s3.send(new GetObjectCommand({ Bucket, Key: 'x' })));
  const put = (Key: string) => s3.send(new PutObjectCommand({ Bucket, Key, Body: bytes }));

  test('errors and throttling are refusals: nothing was done', async () => {
    sandbox.faults.set({ errorRate: 1 });
    expect(await failure(put('refused'))).toEqual({ name: 'InternalError', status: 500 });
    sandbox.faults.set({ throttleRate: 1 });
    expect(await failure(put('refused'))).toEqual({ name: 'SlowDown', status: 503 });
    sandbox.faults.clear();
    expect((await failure(s3.send(new HeadObjectCommand({ Bucket, Key: 'refused' })))).status).toBe(404);
  });

  test('a lost acknowledgement: the connection drops, but the object is there', async () => {
    sandbox.faults.set({ lostAckRate: 1 });
    expect((await failure(put('lost'))).status).toBeUndefined();
    sandbox.faults.clear();
    expect((await s3.send(new HeadObjectCommand({ Bucket, Key: 'lost' }))).ContentLength).toBe(bytes.length);
  });

  test('truncated bodies either break or look complete, and are never whole', async () => {
    sandbox.faults.set({ seed: 2, truncateRate: 1 });
    const unchecked = clientOf(sandbox, { responseChecksumValidation: 'WHEN_REQUIRED' });
    const outcomes = { broken: 0, short: 0 };
    for (let turn = 0; turn < 20; turn++) {
      try {
        const got = await bodyOf(await unchecked.send(new GetObjectCommand({ Bucket, Key: 'x' })));
        expect(got.length).toBeLessThan(bytes.length);
        outcomes.short++;
      } catch {
        outcomes.broken++;
      }
    }
    expect(outcomes.broken).toBeGreaterThan(0);
    expect(outcomes.short).toBeGreaterThan(0);
  });

  test('a byte that is changed on the way out is detected by the checksum', async () => {
    sandbox.faults.set({ corruptReadRate: 1 });
    await expect(get()).rejects.toThrow(/[Cc]hecksum/);
    sandbox.faults.clear();
    expect((await get()).equals(bytes)).toBe(true);
  });

  test('a byte that is changed on the way in is detected and nothing is stored', async () => {
    sandbox.faults.set({ corruptWriteRate: 1 });
    expect((await failure(put('damaged'))).status).toBe(400);
    sandbox.faults.clear();
    expect((await failure(s3.send(new HeadObjectCommand({ Bucket, Key: 'damaged' })))).status).toBe(404);
  });

  test('delays take their time, only chosen operations are affected, and a profile can end by itself', async () => {
    sandbox.faults.set({ delayRate: 1, delayMsMin: 80, delayMsMax: 90, operations: ['GetObject'] });
    const startedAt = performance.now();
    await get();
    expect(performance.now() - startedAt).toBeGreaterThan(75);
    sandbox.faults.set({ errorRate: 1, operations: ['PutObject'], harmedMax: 2 });
    await get();
    expect([(await failure(put('a'))).status, (await failure(put('a'))).status]).toEqual([500, 500]);
    await put('a');
    expect(sandbox.faults.counts.errors).toBe(2);
  });

  test('the control calls set, show and end faults over HTTP, and refuse unknown ones', async () => {
    const control = `${sandbox.endpoint}/_sandbox/faults`;
    const answer = await fetch(control, { method: 'PUT', body: JSON.stringify({ errorRate: 1 }) });
    expect(await answer.json()).toMatchObject({ profile: { errorRate: 1 } });
    expect((await failure(get())).status).toBe(500);
    expect(await (await fetch(control)).json()).toMatchObject({ counts: { errors: 1 } });
    expect((await fetch(control, { method: 'PUT', body: '{"errorRte":1}' })).status).toBe(400);
    await fetch(control, { method: 'DELETE' });
    await get();
  });
});

test('it runs as a separate process', async () => {
  const { endpoint, stop } = await startProcess(new URL('main.ts', import.meta.url));
  const listed = await clientOf({ endpoint } as S3Sandbox).send(new ListBucketsCommand({}));
  expect(listed.Buckets?.map((bucket) => bucket.Name)).toEqual(['mine']);
  expect(await stop()).toBe(0);
});
