import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import {
  type BucketLocationConstraint,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetBucketAclCommand,
  GetBucketLocationCommand,
  GetObjectCommand,
  GetObjectLegalHoldCommand,
  GetObjectLockConfigurationCommand,
  GetObjectRetentionCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListBucketsCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  ListPartsCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  PutObjectLegalHoldCommand,
  PutObjectLockConfigurationCommand,
  PutObjectRetentionCommand,
  paginateListObjectsV2,
  S3Client,
  type S3ClientConfig,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type S3Sandbox, startS3Sandbox } from './server.ts';

const MIB = 1024 * 1024;
const folder = mkdtempSync(join(tmpdir(), 'sandbox-s3-'));

function clientOf(sandbox: S3Sandbox, config: S3ClientConfig = {}): S3Client {
  return new S3Client({
    endpoint: sandbox.endpoint,
    region: 'us-east-1',
    credentials: { accessKeyId: 'sandbox', secretAccessKey: 'sandbox-secret' },
    forcePathStyle: true,
    maxAttempts: 1,
    ...config,
  });
}

async function failure(promise: Promise<unknown>): Promise<{ name: string; status: number | undefined }> {
  try {
    await promise;
  } catch (error) {
    const known = error as { name: string; $metadata?: { httpStatusCode?: number } };
    return { name: known.name, status: known.$metadata?.httpStatusCode };
  }
  return { name: 'no error', status: undefined };
}

async function bodyOf(output: { Body?: { transformToByteArray(): Promise<Uint8Array> } }): Promise<Buffer> {
  return Buffer.from(await output.Body!.transformToByteArray());
}

describe.each(['memory', 'disk'])('the official SDK against the %s sandbox', (mode) => {
  let sandbox: S3Sandbox;
  let s3: S3Client;
  const Bucket = 'things';

  beforeAll(async () => {
    sandbox = await startS3Sandbox({ buckets: [Bucket], ...(mode === 'disk' && { folder: join(folder, 'sdk') }) });
    s3 = clientOf(sandbox);
  });
  afterAll(async () => {
    s3.destroy();
    await sandbox.stop();
  });

  test('objects come back byte for byte with what was said about them', async () => {
    const Body = randomBytes(300_000);
    const put = await s3.send(
      new PutObjectCommand({
        Bucket,
        Key: 'a/ü ~!*\'()&=+$,;:@?#[]"<>.bin',
        Body,
        ContentType: 'application/x-thing',
        CacheControl: 'no-store',
        Metadata: { colour: 'red' },
      }),
    );
    const got = await s3.send(new GetObjectCommand({ Bucket, Key: 'a/ü ~!*\'()&=+$,;:@?#[]"<>.bin' }));
    expect(await bodyOf(got)).toEqual(Body);
    expect(got).toMatchObject({
      ETag: put.ETag,
      ContentLength: 300_000,
      ContentType: 'application/x-thing',
      CacheControl: 'no-store',
      Metadata: { colour: 'red' },
    });
    expect(put.ChecksumCRC32).toBeDefined();
    const head = await s3.send(
      new HeadObjectCommand({ Bucket, Key: 'a/ü ~!*\'()&=+$,;:@?#[]"<>.bin', ChecksumMode: 'ENABLED' }),
    );
    expect(head).toMatchObject({
      ContentLength: 300_000,
      ChecksumCRC32: put.ChecksumCRC32,
      ChecksumType: 'FULL_OBJECT',
    });
    expect(await failure(s3.send(new GetObjectCommand({ Bucket, Key: 'absent' })))).toEqual({
      name: 'NoSuchKey',
      status: 404,
    });
    expect(await failure(s3.send(new HeadObjectCommand({ Bucket, Key: 'absent' })))).toEqual({
      name: 'NotFound',
      status: 404,
    });
    expect(await failure(s3.send(new GetObjectCommand({ Bucket: 'no-such', Key: 'a' })))).toEqual({
      name: 'NoSuchBucket',
      status: 404,
    });
  });

  test('an empty object and an odd name are objects like others', async () => {
    for (const Key of ['empty', '../../etc/passwd', '.', 'a//b', 'dir/', 'x'.repeat(1024)]) {
      await s3.send(new PutObjectCommand({ Bucket, Key, Body: '' }));
      expect(await bodyOf(await s3.send(new GetObjectCommand({ Bucket, Key })))).toEqual(Buffer.alloc(0));
    }
    expect((await failure(s3.send(new PutObjectCommand({ Bucket, Key: 'x'.repeat(1025), Body: '' })))).name).toBe(
      'KeyTooLongError',
    );
  });

  test.each(['CRC32', 'CRC32C', 'CRC64NVME', 'SHA1', 'SHA256'] as const)(
    '%s is verified on the way in and given on the way out',
    async (algorithm) => {
      // The SDK cannot compute CRC64NVME without a native addition, so its value is taken from the standard's check value.
      const Body = Buffer.from('123456789');
      const given =
        algorithm === 'CRC64NVME' ? { ChecksumCRC64NVME: 'rosUhgp5mIg=' } : { ChecksumAlgorithm: algorithm };
      const put = await s3.send(new PutObjectCommand({ Bucket, Key: algorithm, Body, ...given }));
      const got = await s3.send(new GetObjectCommand({ Bucket, Key: algorithm, ChecksumMode: 'ENABLED' }));
      expect(got[`Checksum${algorithm}`]).toBe(put[`Checksum${algorithm}`]);
      expect(got[`Checksum${algorithm}`]).toBeDefined();
      expect(await bodyOf(got)).toEqual(Body);
      const wrong = {
        [`Checksum${algorithm}`]: Buffer.alloc(Buffer.from(put[`Checksum${algorithm}`]!, 'base64').length).toString(
          'base64',
        ),
      };
      expect(await failure(s3.send(new PutObjectCommand({ Bucket, Key: 'wrong', Body, ...wrong })))).toEqual({
        name: 'BadDigest',
        status: 400,
      });
      expect((await failure(s3.send(new HeadObjectCommand({ Bucket, Key: 'wrong' })))).name).toBe('NotFound');
    },
  );

  test('a wrong Content-MD5 is refused and nothing is stored', async () => {
    const ContentMD5 = Buffer.alloc(16).toString('base64');
    expect((await failure(s3.send(new PutObjectCommand({ Bucket, Key: 'md5', Body: 'x', ContentMD5 })))).name).toBe(
      'BadDigest',
    );
    expect(
      (await failure(s3.send(new PutObjectCommand({ Bucket, Key: 'md5', Body: 'x', ContentMD5: 'no' })))).name,
    ).toBe('InvalidDigest');
    expect((await failure(s3.send(new HeadObjectCommand({ Bucket, Key: 'md5' })))).name).toBe('NotFound');
  });

  test('a stream of known length arrives in chunks with its checksum behind it', async () => {
    const bytes = randomBytes(1_500_000);
    const chunks = Array.from({ length: 15 }, (_, index) => bytes.subarray(index * 100_000, (index + 1) * 100_000));
    const put = await s3.send(
      new PutObjectCommand({
        Bucket,
        Key: 'streamed',
        Body: Readable.from(chunks, { objectMode: false }),
        ContentLength: bytes.length,
        ContentEncoding: 'gzip',
      }),
    );
    expect(put.ChecksumCRC32).toBeDefined();
    const got = await s3.send(new GetObjectCommand({ Bucket, Key: 'streamed' }));
    expect(got.ContentEncoding).toBe('gzip');
    expect(await bodyOf(got)).toEqual(bytes);
  });

  test('ranges give 206 with exactly those bytes, and 416 beyond the end', async () => {
    const Body = randomBytes(1000);
    await s3.send(new PutObjectCommand({ Bucket, Key: 'ranged', Body }));
    const cases = {
      'bytes=0-0': [0, 1],
      'bytes=10-19': [10, 20],
      'bytes=990-': [990, 1000],
      'bytes=-5': [995, 1000],
      'bytes=900-5000': [900, 1000],
    };
    for (const [Range, [start, end]] of Object.entries(cases)) {
      const got = await s3.send(new GetObjectCommand({ Bucket, Key: 'ranged', Range }));
      expect(got.$metadata.httpStatusCode).toBe(206);
      expect(got.ContentRange).toBe(`bytes ${start}-${end! - 1}/1000`);
      expect(await bodyOf(got)).toEqual(Body.subarray(start, end));
    }
    expect(await failure(s3.send(new GetObjectCommand({ Bucket, Key: 'ranged', Range: 'bytes=1000-' })))).toEqual({
      name: 'InvalidRange',
      status: 416,
    });
  });

  test('conditional writes: of two only one wins', async () => {
    const puts = await Promise.all(
      [1, 2, 3, 4].map((n) =>
        failure(s3.send(new PutObjectCommand({ Bucket, Key: 'once', Body: `body ${n}`, IfNoneMatch: '*' }))),
      ),
    );
    expect(puts.filter((one) => one.name === 'no error')).toHaveLength(1);
    expect(puts.filter((one) => one.name === 'PreconditionFailed' && one.status === 412)).toHaveLength(3);
    const { ETag } = await s3.send(new HeadObjectCommand({ Bucket, Key: 'once' }));
    expect(
      (await failure(s3.send(new PutObjectCommand({ Bucket, Key: 'once', Body: 'new', IfMatch: '"other"' })))).name,
    ).toBe('PreconditionFailed');
    await s3.send(new PutObjectCommand({ Bucket, Key: 'once', Body: 'new', IfMatch: ETag }));
    expect(
      (await failure(s3.send(new PutObjectCommand({ Bucket, Key: 'never', Body: 'new', IfMatch: ETag })))).name,
    ).toBe('NoSuchKey');
  });

  test('conditional reads give 304 and 412', async () => {
    const { ETag } = await s3.send(new PutObjectCommand({ Bucket, Key: 'cached', Body: 'x' }));
    expect((await failure(s3.send(new GetObjectCommand({ Bucket, Key: 'cached', IfNoneMatch: ETag })))).status).toBe(
      304,
    );
    expect((await failure(s3.send(new GetObjectCommand({ Bucket, Key: 'cached', IfMatch: '"z"' })))).status).toBe(412);
    expect(
      (
        await failure(
          s3.send(new GetObjectCommand({ Bucket, Key: 'cached', IfModifiedSince: new Date(Date.now() + 5000) })),
        )
      ).status,
    ).toBe(304);
    expect(
      (await failure(s3.send(new GetObjectCommand({ Bucket, Key: 'cached', IfUnmodifiedSince: new Date(0) })))).status,
    ).toBe(412);
    await s3.send(new GetObjectCommand({ Bucket, Key: 'cached', IfMatch: ETag })).then(bodyOf);
  });

  test('listing pages through all keys in UTF-8 order, folds at a delimiter, starts after a key', async () => {
    const bucket = 'listed';
    await s3.send(new CreateBucketCommand({ Bucket: bucket }));
    const keys = [
      ...Array.from({ length: 25 }, (_, n) => `a/${String(n).padStart(3, '0')}`),
      'b',
      'c/x/1',
      'c/x/2',
      'c/y',
      'é',
      '\uffee',
      '😀',
      'z z',
    ];
    for (const Key of keys.toReversed()) await s3.send(new PutObjectCommand({ Bucket: bucket, Key, Body: Key }));
    const sorted = keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    for (const MaxKeys of [1, 7, 1000]) {
      const listed: string[] = [];
      for await (const page of paginateListObjectsV2({ client: s3 }, { Bucket: bucket, MaxKeys }))
        for (const one of page.Contents ?? []) listed.push(one.Key!);
      expect(listed).toEqual(sorted);
    }
    const folded: string[] = [];
    for await (const page of paginateListObjectsV2({ client: s3 }, { Bucket: bucket, MaxKeys: 2, Delimiter: '/' })) {
      folded.push(
        ...(page.CommonPrefixes ?? []).map((one) => one.Prefix!),
        ...(page.Contents ?? []).map((one) => one.Key!),
      );
      expect(page.KeyCount).toBeLessThanOrEqual(2);
    }
    expect(folded.toSorted()).toEqual(['a/', 'b', 'c/', 'z z', 'é', '\uffee', '😀'].toSorted());
    const after = await s3.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: 'a/', StartAfter: 'a/021' }));
    expect(after.Contents?.map((one) => one.Key)).toEqual(['a/022', 'a/023', 'a/024']);
    const encoded = await s3.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: 'z', EncodingType: 'url' }));
    expect(encoded.Contents?.[0]?.Key).toBe('z+z');
    expect((await failure(s3.send(new ListObjectsV2Command({ Bucket: bucket, ContinuationToken: 'junk' })))).name).toBe(
      'InvalidArgument',
    );
    await s3.send(
      new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects: keys.map((Key) => ({ Key })), Quiet: true } }),
    );
    expect((await s3.send(new ListObjectsV2Command({ Bucket: bucket }))).KeyCount).toBe(0);
    await s3.send(new DeleteBucketCommand({ Bucket: bucket }));
    expect((await failure(s3.send(new HeadBucketCommand({ Bucket: bucket })))).status).toBe(404);
  });

  test('copies carry bytes and headers, or replace the headers', async () => {
    const Body = randomBytes(50_000);
    await s3.send(new PutObjectCommand({ Bucket, Key: 'copy from ü', Body, Metadata: { a: '1' } }));
    const CopySource = `${Bucket}/${encodeURIComponent('copy from ü')}`;
    await s3.send(new CopyObjectCommand({ Bucket, Key: 'copied', CopySource }));
    await s3.send(new DeleteObjectCommand({ Bucket, Key: 'copy from ü' }));
    const got = await s3.send(new GetObjectCommand({ Bucket, Key: 'copied' }));
    expect(got.Metadata).toEqual({ a: '1' });
    expect(await bodyOf(got)).toEqual(Body);
    const replaced = { CopySource: `${Bucket}/copied`, MetadataDirective: 'REPLACE' as const, Metadata: { b: '2' } };
    await s3.send(new CopyObjectCommand({ Bucket, Key: 'copied', ...replaced }));
    const after = await s3.send(new GetObjectCommand({ Bucket, Key: 'copied' }));
    expect(after.Metadata).toEqual({ b: '2' });
    expect(await bodyOf(after)).toEqual(Body);
    expect(
      (await failure(s3.send(new CopyObjectCommand({ Bucket, Key: 'copied', CopySource: `${Bucket}/copied` })))).name,
    ).toBe('InvalidRequest');
  });

  test('lib-storage uploads a large stream in parts, checksums and all', async () => {
    const bytes = randomBytes(12 * MIB + 17);
    const Body = Readable.from([bytes.subarray(0, 7 * MIB), bytes.subarray(7 * MIB)]);
    const done = await new Upload({
      client: s3,
      params: { Bucket, Key: 'large', Body, ContentType: 'x/y' },
      partSize: 5 * MIB,
    }).done();
    expect(done.ETag).toMatch(/-3"$/);
    const got = await s3.send(new GetObjectCommand({ Bucket, Key: 'large' }));
    expect(got.ContentType).toBe('x/y');
    expect((await bodyOf(got)).equals(bytes)).toBe(true);
    const across = await s3.send(
      new GetObjectCommand({ Bucket, Key: 'large', Range: `bytes=${5 * MIB - 3}-${5 * MIB + 3}` }),
    );
    expect(await bodyOf(across)).toEqual(bytes.subarray(5 * MIB - 3, 5 * MIB + 4));
    const part = await s3.send(new GetObjectCommand({ Bucket, Key: 'large', PartNumber: 3 }));
    expect(part.PartsCount).toBe(3);
    expect((await bodyOf(part)).equals(bytes.subarray(10 * MIB))).toBe(true);
  });

  test('multipart uploads are listed, checked part by part, and can be aborted', async () => {
    const { UploadId } = await s3.send(
      new CreateMultipartUploadCommand({ Bucket, Key: 'parts', ChecksumAlgorithm: 'CRC32' }),
    );
    const target = { Bucket, Key: 'parts', UploadId };
    const small = await s3.send(
      new UploadPartCommand({ ...target, PartNumber: 1, Body: randomBytes(1000), ChecksumAlgorithm: 'CRC32' }),
    );
    const big = await s3.send(
      new UploadPartCommand({ ...target, PartNumber: 2, Body: randomBytes(5 * MIB), ChecksumAlgorithm: 'CRC32' }),
    );
    const parts = [
      { PartNumber: 1, ETag: small.ETag, ChecksumCRC32: small.ChecksumCRC32 },
      { PartNumber: 2, ETag: big.ETag, ChecksumCRC32: big.ChecksumCRC32 },
    ];
    const complete = (Parts: object[]) =>
      failure(s3.send(new CompleteMultipartUploadCommand({ ...target, MultipartUpload: { Parts } })));
    expect((await complete(parts)).name).toBe('EntityTooSmall');
    expect((await complete(parts.toReversed())).name).toBe('InvalidPartOrder');
    expect((await complete([{ ...parts[1], ETag: '"0123"' }])).name).toBe('InvalidPart');
    expect((await complete([{ ...parts[1], ChecksumCRC32: 'AAAAAA==' }])).name).toBe('InvalidPart');
    expect((await complete([{ PartNumber: 2, ETag: big.ETag }])).name).toBe('InvalidRequest');
    expect((await s3.send(new ListPartsCommand({ ...target, MaxParts: 1 }))).Parts).toMatchObject([
      { PartNumber: 1, Size: 1000 },
    ]);
    expect((await s3.send(new ListMultipartUploadsCommand({ Bucket }))).Uploads).toMatchObject([
      { Key: 'parts', UploadId },
    ]);
    await s3.send(
      new UploadPartCopyCommand({
        ...target,
        PartNumber: 3,
        CopySource: `${Bucket}/large`,
        CopySourceRange: 'bytes=0-99',
      }),
    );
    expect((await s3.send(new ListPartsCommand(target))).Parts).toHaveLength(3);
    const { AbortMultipartUploadCommand } = await import('@aws-sdk/client-s3');
    await s3.send(new AbortMultipartUploadCommand(target));
    expect((await complete([parts[1]!])).name).toBe('NoSuchUpload');
    expect((await s3.send(new ListMultipartUploadsCommand({ Bucket }))).Uploads ?? []).toEqual([]);
  });

  test('a full-object CRC of a multipart upload is that of the whole', async () => {
    const bytes = randomBytes(5 * MIB + 1000);
    const whole = await s3.send(
      new PutObjectCommand({ Bucket, Key: 'whole', Body: bytes, ChecksumAlgorithm: 'CRC32C' }),
    );
    const { UploadId } = await s3.send(
      new CreateMultipartUploadCommand({
        Bucket,
        Key: 'full',
        ChecksumAlgorithm: 'CRC32C',
        ChecksumType: 'FULL_OBJECT',
      }),
    );
    const target = { Bucket, Key: 'full', UploadId };
    const Parts: { PartNumber: number; ETag: string | undefined }[] = [];
    for (const [index, Body] of [bytes.subarray(0, 5 * MIB), bytes.subarray(5 * MIB)].entries()) {
      const part = await s3.send(
        new UploadPartCommand({ ...target, PartNumber: index + 1, Body, ChecksumAlgorithm: 'CRC32C' }),
      );
      Parts.push({ PartNumber: index + 1, ETag: part.ETag });
    }
    const finish = (ChecksumCRC32C: string) =>
      s3.send(
        new CompleteMultipartUploadCommand({
          ...target,
          MultipartUpload: { Parts },
          ChecksumCRC32C,
          ChecksumType: 'FULL_OBJECT',
        }),
      );
    expect((await failure(finish('AAAAAA=='))).name).toBe('BadDigest');
    const done = await finish(whole.ChecksumCRC32C!);
    expect(done.ChecksumCRC32C).toBe(whole.ChecksumCRC32C);
  });

  test('versions stay until each is deleted by its id, behind delete markers', async () => {
    const bucket = 'versioned';
    await s3.send(new CreateBucketCommand({ Bucket: bucket }));
    await s3.send(new PutObjectCommand({ Bucket: bucket, Key: 'k', Body: 'before' }));
    await s3.send(new PutBucketVersioningCommand({ Bucket: bucket, VersioningConfiguration: { Status: 'Enabled' } }));
    const one = await s3.send(new PutObjectCommand({ Bucket: bucket, Key: 'k', Body: 'one' }));
    const two = await s3.send(new PutObjectCommand({ Bucket: bucket, Key: 'k', Body: 'two' }));
    const gone = await s3.send(new DeleteObjectCommand({ Bucket: bucket, Key: 'k' }));
    expect(gone.DeleteMarker).toBe(true);
    expect((await failure(s3.send(new GetObjectCommand({ Bucket: bucket, Key: 'k' })))).name).toBe('NoSuchKey');
    const text = async (VersionId?: string) =>
      String(await bodyOf(await s3.send(new GetObjectCommand({ Bucket: bucket, Key: 'k', VersionId }))));
    expect([await text('null'), await text(one.VersionId), await text(two.VersionId)]).toEqual([
      'before',
      'one',
      'two',
    ]);
    const listed: string[] = [];
    let markers: { KeyMarker?: string; VersionIdMarker?: string } = {};
    for (let page = 0; page < 10; page++) {
      const output = await s3.send(new ListObjectVersionsCommand({ Bucket: bucket, MaxKeys: 1, ...markers }));
      listed.push(
        ...[...(output.DeleteMarkers ?? []), ...(output.Versions ?? [])].map((version) => version.VersionId!),
      );
      if (!output.IsTruncated) break;
      markers = { KeyMarker: output.NextKeyMarker, VersionIdMarker: output.NextVersionIdMarker };
    }
    expect(listed).toEqual([gone.VersionId, two.VersionId, one.VersionId, 'null']);
    await s3.send(new DeleteObjectCommand({ Bucket: bucket, Key: 'k', VersionId: gone.VersionId }));
    expect(await text()).toBe('two');
    await s3.send(
      new DeleteObjectsCommand({
        Bucket: bucket,
        Delete: { Objects: [two, one, { VersionId: 'null' }].map(({ VersionId }) => ({ Key: 'k', VersionId })) },
      }),
    );
    expect((await s3.send(new ListObjectVersionsCommand({ Bucket: bucket }))).Versions ?? []).toEqual([]);
  });

  test('what the sandbox does not do is said, never pretended', async () => {
    expect((await failure(s3.send(new GetBucketAclCommand({ Bucket })))).name).toBe('NotImplemented');
    expect((await failure(s3.send(new PutObjectCommand({ Bucket, Key: 'x', Body: '', Tagging: 'a=b' })))).name).toBe(
      'NotImplemented',
    );
    expect(
      (await failure(s3.send(new PutObjectCommand({ Bucket, Key: 'x', Body: '', ServerSideEncryption: 'AES256' }))))
        .name,
    ).toBe('NotImplemented');
    expect(
      (await failure(s3.send(new PutObjectCommand({ Bucket, Key: 'x', Body: '', StorageClass: 'GLACIER' })))).name,
    ).toBe('NotImplemented');
    expect((await failure(s3.send(new HeadObjectCommand({ Bucket, Key: 'x' })))).name).toBe('NotFound');
  });
});

describe('object lock', () => {
  const Bucket = 'locked';
  let nowMs = Date.parse('2026-01-01T00:00:00Z');
  let sandbox: S3Sandbox;
  let s3: S3Client;
  const DAY_MS = 24 * 3600 * 1000;

  beforeAll(async () => {
    sandbox = await startS3Sandbox({ now: () => nowMs });
    s3 = clientOf(sandbox, { systemClockOffset: nowMs - Date.now() });
    await s3.send(new CreateBucketCommand({ Bucket, ObjectLockEnabledForBucket: true }));
  });
  afterAll(async () => {
    s3.destroy();
    await sandbox.stop();
  });

  const put = (Key: string, ObjectLockMode?: 'GOVERNANCE' | 'COMPLIANCE') =>
    s3.send(
      new PutObjectCommand({
        Bucket,
        Key,
        Body: Key,
        ...(ObjectLockMode && { ObjectLockMode, ObjectLockRetainUntilDate: new Date(nowMs + DAY_MS) }),
      }),
    );
  const remove = (Key: string, VersionId: string | undefined, BypassGovernanceRetention?: boolean) =>
    failure(s3.send(new DeleteObjectCommand({ Bucket, Key, VersionId, BypassGovernanceRetention })));

  test('compliance keeps a version from everyone until its time', async () => {
    const { VersionId } = await put('c', 'COMPLIANCE');
    expect((await remove('c', undefined)).name).toBe('no error');
    expect(await remove('c', VersionId, true)).toEqual({ name: 'AccessDenied', status: 403 });
    const shorten = { Mode: 'COMPLIANCE' as const, RetainUntilDate: new Date(nowMs + 1000) };
    const shortened = s3.send(
      new PutObjectRetentionCommand({
        Bucket,
        Key: 'c',
        VersionId,
        Retention: shorten,
        BypassGovernanceRetention: true,
      }),
    );
    expect((await failure(shortened)).name).toBe('AccessDenied');
    const head = await s3.send(new HeadObjectCommand({ Bucket, Key: 'c', VersionId }));
    expect(head.ObjectLockMode).toBe('COMPLIANCE');
    nowMs += DAY_MS + 1000;
    s3.config.systemClockOffset = nowMs - Date.now();
    expect((await remove('c', VersionId)).name).toBe('no error');
  });

  test('governance yields only to those who say so', async () => {
    const { VersionId } = await put('g', 'GOVERNANCE');
    expect((await remove('g', VersionId)).name).toBe('AccessDenied');
    const { Retention } = await s3.send(new GetObjectRetentionCommand({ Bucket, Key: 'g', VersionId }));
    expect(Retention).toEqual({ Mode: 'GOVERNANCE', RetainUntilDate: new Date(nowMs + DAY_MS) });
    expect((await remove('g', VersionId, true)).name).toBe('no error');
  });

  test('a legal hold has no end until it is lifted', async () => {
    const { VersionId } = await put('h');
    await s3.send(new PutObjectLegalHoldCommand({ Bucket, Key: 'h', LegalHold: { Status: 'ON' } }));
    expect((await remove('h', VersionId, true)).name).toBe('AccessDenied');
    expect((await s3.send(new GetObjectLegalHoldCommand({ Bucket, Key: 'h' }))).LegalHold?.Status).toBe('ON');
    const batch = await s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects: [{ Key: 'h', VersionId }] } }));
    expect(batch.Errors).toMatchObject([{ Key: 'h', Code: 'AccessDenied' }]);
    await s3.send(new PutObjectLegalHoldCommand({ Bucket, Key: 'h', LegalHold: { Status: 'OFF' } }));
    expect((await remove('h', VersionId)).name).toBe('no error');
  });

  test("a bucket's default retention falls on new objects", async () => {
    const Rule = { DefaultRetention: { Mode: 'GOVERNANCE' as const, Days: 3 } };
    await s3.send(
      new PutObjectLockConfigurationCommand({
        Bucket,
        ObjectLockConfiguration: { ObjectLockEnabled: 'Enabled', Rule },
      }),
    );
    expect((await s3.send(new GetObjectLockConfigurationCommand({ Bucket }))).ObjectLockConfiguration?.Rule).toEqual(
      Rule,
    );
    const { VersionId } = await put('d');
    const { Retention } = await s3.send(new GetObjectRetentionCommand({ Bucket, Key: 'd', VersionId }));
    expect(Retention?.RetainUntilDate).toEqual(new Date(nowMs + 3 * DAY_MS));
  });

  test('a bucket without object lock refuses locks', async () => {
    await s3.send(new CreateBucketCommand({ Bucket: 'open' }));
    const locked = s3.send(
      new PutObjectCommand({
        Bucket: 'open',
        Key: 'x',
        Body: '',
        ObjectLockMode: 'GOVERNANCE',
        ObjectLockRetainUntilDate: new Date(nowMs + DAY_MS),
      }),
    );
    expect((await failure(locked)).name).toBe('InvalidRequest');
  });
});

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
      requestHandler: new NodeHttpHandler({ httpAgent }),
    });
    await s3.send(new PutObjectCommand({ Bucket: 'one', Key: 'by/host', Body: 'hello' }));
    expect(String(await bodyOf(await s3.send(new GetObjectCommand({ Bucket: 'one', Key: 'by/host' }))))).toBe('hello');
    const path = clientOf(sandbox, { region: 'eu-central-1' });
    expect((await path.send(new ListObjectsV2Command({ Bucket: 'one' }))).Contents?.[0]?.Key).toBe('by/host');
    httpAgent.destroy();
  });

  test('a key sees its own buckets and may do what is not denied', async () => {
    const reader = clientOf(sandbox, {
      region: 'eu-central-1',
      credentials: { accessKeyId: 'reader', secretAccessKey: 'r' },
    });
    await reader.send(new ListObjectsV2Command({ Bucket: 'one' }));
    expect((await failure(reader.send(new PutObjectCommand({ Bucket: 'one', Key: 'x', Body: '' })))).name).toBe(
      'AccessDenied',
    );
    expect((await failure(reader.send(new ListObjectsV2Command({ Bucket: 'two' })))).name).toBe('AccessDenied');
    const session = { accessKeyId: 'session', secretAccessKey: 's', sessionToken: 'token' };
    const listed = await clientOf(sandbox, { region: 'eu-central-1', credentials: session }).send(
      new ListBucketsCommand({}),
    );
    expect(listed.Buckets?.map((one) => one.Name)).toEqual(['one', 'two']);
    const stale = clientOf(sandbox, { region: 'eu-central-1', credentials: { ...session, sessionToken: 'old' } });
    expect((await failure(stale.send(new ListBucketsCommand({})))).name).toBe('InvalidToken');
  });

  test('wrong secret, unknown key, wrong region and wrong time are refused each by its own code', async () => {
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

test('what was acknowledged in disk mode is there after a restart, and nothing is left over', async () => {
  const where = join(folder, 'restart');
  const first = await startS3Sandbox({ folder: where, buckets: ['kept'] });
  const bytes = randomBytes(6 * MIB);
  const s3 = clientOf(first);
  await new Upload({ client: s3, params: { Bucket: 'kept', Key: 'large', Body: bytes }, partSize: 5 * MIB }).done();
  await s3.send(new PutObjectCommand({ Bucket: 'kept', Key: 'gone', Body: 'x' }));
  await s3.send(new DeleteObjectCommand({ Bucket: 'kept', Key: 'gone' }));
  await first.stop();
  const second = await startS3Sandbox({ folder: where });
  const again = clientOf(second);
  const got = await again.send(new GetObjectCommand({ Bucket: 'kept', Key: 'large' }));
  expect((await bodyOf(got)).equals(bytes)).toBe(true);
  expect((await failure(again.send(new GetObjectCommand({ Bucket: 'kept', Key: 'gone' })))).name).toBe('NoSuchKey');
  const { readdirSync } = await import('node:fs');
  expect(readdirSync(join(where, 'data'))).toHaveLength(2);
  await second.stop();
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));
