import { Agent } from 'node:http';
import {
  type BucketLocationConstraint,
  CreateBucketCommand,
  DeleteObjectsCommand,
  GetBucketLocationCommand,
  GetObjectCommand,
  ListBucketsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3ClientConfig,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type S3Sandbox, startS3Sandbox } from './server.ts';
import { canonicalRequest, hmac, scopeText, signingKey, stringToSign } from './signature/canonical.ts';
import { bodyOf, clientOf, failure } from './testing.ts';

describe('addresses, keys and permissions', () => {
  let sandbox: S3Sandbox;
  beforeAll(async () => {
    sandbox = await startS3Sandbox({
      region: 'eu-central-1',
      buckets: ['one', 'two'],
      credentials: [
        { accessKeyId: 'sandbox', secretAccessKey: 'sandbox-secret' },
        { accessKeyId: 'reader', secretAccessKey: 'r', buckets: ['one'], deny: ['PutObject', 'ListBuckets'] },
        { accessKeyId: 'session', secretAccessKey: 's', sessionToken: 'token' },
      ],
    });
  });
  afterAll(() => sandbox.stop());

  test('host style addresses a bucket by name', async () => {
    const httpAgent = new Agent({
      lookup: (_name, _options, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]),
    });
    const s3 = clientOf(sandbox, {
      region: 'eu-central-1',
      endpoint: `http://s3.localhost:${sandbox.port}`,
      forcePathStyle: false,
      requestHandler: { httpAgent },
    });
    await s3.send(new PutObjectCommand({ Bucket: 'one', Key: 'by/host', Body: 'hello' }));
    expect(String(await bodyOf(await s3.send(new GetObjectCommand({ Bucket: 'one', Key: 'by/host' }))))).toBe('hello');
    const path = clientOf(sandbox, { region: 'eu-central-1' });
    expect((await path.send(new ListObjectsV2Command({ Bucket: 'one' }))).Contents?.[0]?.Key).toBe('by/host');
    httpAgent.destroy();
  });

  test('a presigned address works for everybody who has it, until it is changed or expires', async () => {
    const presign = (method: string, path: string, parameters: [string, string][] = [], expires = 60) => {
      const amzDate = new Date(Date.now() - 5000).toISOString().replace(/[-:]|\.\d+/g, '');
      const scope = { accessKeyId: 'sandbox', date: amzDate.slice(0, 8), region: 'eu-central-1' };
      const query: [string, string][] = [
        ['X-Amz-Algorithm', 'AWS4-HMAC-SHA256'],
        ['X-Amz-Credential', `sandbox/${scopeText(scope)}`],
        ['X-Amz-Date', amzDate],
        ['X-Amz-Expires', String(expires)],
        ['X-Amz-SignedHeaders', 'host'],
        ...parameters,
      ];
      const headers = { host: `127.0.0.1:${sandbox.port}` };
      const canonical = canonicalRequest({ method, rawPath: path, query, headers }, ['host'], 'UNSIGNED-PAYLOAD');
      const signature = hmac(signingKey('sandbox-secret', scope), stringToSign(amzDate, scope, canonical)).toString(
        'hex',
      );
      return `${sandbox.endpoint}${path}?${new URLSearchParams([...query, ['X-Amz-Signature', signature]])}`;
    };
    const upload = presign('PUT', '/one/given', [['x-amz-meta-from', 'outside']]);
    expect((await fetch(upload, { method: 'PUT', body: 'hello' })).status).toBe(200);
    const answer = await fetch(presign('GET', '/one/given'));
    expect([await answer.text(), answer.headers.get('x-amz-meta-from')]).toEqual(['hello', 'outside']);
    expect((await fetch(upload.replace('given', 'other'), { method: 'PUT', body: 'x' })).status).toBe(403);
    expect((await fetch(presign('GET', '/one/given', [], 1))).status).toBe(403);
    const checked = presign('PUT', '/one/checked', [['x-amz-checksum-crc32', 'AAAAAA==']]);
    expect((await fetch(checked, { method: 'PUT', body: 'not empty' })).status).toBe(400);
    const s3 = clientOf(sandbox, { region: 'eu-central-1' });
    await s3.send(new DeleteObjectsCommand({ Bucket: 'one', Delete: { Objects: [{ Key: 'given' }] } }));
  });

  test('a key sees its own buckets and may do what is not denied', async () => {
    const reader = clientOf(sandbox, {
      region: 'eu-central-1',
      credentials: { accessKeyId: 'reader', secretAccessKey: 'r' },
    });
    await reader.send(new ListObjectsV2Command({ Bucket: 'one' }));
    expect(
      (await failure(reader.send(new PutObjectCommand({ Bucket: 'one', Key: 'x', Body: Buffer.alloc(0) })))).name,
    ).toBe('AccessDenied');
    expect((await failure(reader.send(new ListObjectsV2Command({ Bucket: 'two' })))).name).toBe('AccessDenied');
    const session = { accessKeyId: 'session', secretAccessKey: 's', sessionToken: 'token' };
    const listed = await clientOf(sandbox, { region: 'eu-central-1', credentials: session }).send(
      new ListBucketsCommand({}),
    );
    expect(listed.Buckets?.map((one) => one.Name)).toEqual(['one', 'two']);
    const stale = clientOf(sandbox, { region: 'eu-central-1', credentials: { ...session, sessionToken: 'old' } });
    expect((await failure(stale.send(new ListBucketsCommand({})))).name).toBe('InvalidToken');
  });

  test('a wrong secret, unknown key, wrong region and wrong time each have their own error code', async () => {
    const attempt = (config: S3ClientConfig) =>
      failure(
        clientOf(sandbox, { region: 'eu-central-1', ...config }).send(new GetBucketLocationCommand({ Bucket: 'one' })),
      );
    expect(await attempt({ credentials: { accessKeyId: 'sandbox', secretAccessKey: 'wrong' } })).toEqual({
      name: 'SignatureDoesNotMatch',
      status: 403,
    });
    expect((await attempt({ credentials: { accessKeyId: 'nobody', secretAccessKey: 'x' } })).name).toBe(
      'InvalidAccessKeyId',
    );
    expect((await attempt({ region: 'us-west-2' })).name).toBe('AuthorizationHeaderMalformed');
    expect((await attempt({ systemClockOffset: -16 * 60 * 1000 })).name).toBe('RequestTimeTooSkewed');
    expect((await attempt({})).name).toBe('no error');
    expect((await fetch(`${sandbox.endpoint}/one`)).status).toBe(403);
    const s3 = clientOf(sandbox, { region: 'eu-central-1' });
    const LocationConstraint = 'us-west-1' as BucketLocationConstraint;
    expect(
      (
        await failure(
          s3.send(new CreateBucketCommand({ Bucket: 'three', CreateBucketConfiguration: { LocationConstraint } })),
        )
      ).name,
    ).toBe('IllegalLocationConstraintException');
    expect((await failure(s3.send(new CreateBucketCommand({ Bucket: 'one' })))).name).toBe('BucketAlreadyOwnedByYou');
    expect((await failure(s3.send(new CreateBucketCommand({ Bucket: '127.0.0.1' })))).name).toBe('InvalidBucketName');
  });
});
