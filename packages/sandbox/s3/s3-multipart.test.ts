import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  PutObjectCommand,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { afterAll, describe, expect, test } from 'vitest';
import { startS3Sandbox } from './server.ts';
import { bodyOf, clientOf, failure, mib, startBothKinds } from './testing.ts';

const folder = mkdtempSync(join(tmpdir(), 'sandbox-s3-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const Bucket = 'things';
const { kinds, stop } = await startBothKinds(Bucket);
afterAll(stop);

describe.each(kinds)('multipart uploads in the $kind sandbox', ({ s3 }) => {
  test('lib-storage uploads a large stream in parts, checksums and all', async () => {
    const bytes = randomBytes(12 * mib + 17);
    const Body = Readable.from([bytes.subarray(0, 7 * mib), bytes.subarray(7 * mib)]);
    const done = await new Upload({
      client: s3,
      params: { Bucket, Key: 'large', Body, ContentType: 'x/y' },
      partSize: 5 * mib,
    }).done();
    expect(done.ETag).toMatch(/-3"$/);
    const got = await s3.send(new GetObjectCommand({ Bucket, Key: 'large' }));
    expect(got.ContentType).toBe('x/y');
    expect((await bodyOf(got)).equals(bytes)).toBe(true);
    const across = await s3.send(
      new GetObjectCommand({ Bucket, Key: 'large', Range: `bytes=${5 * mib - 3}-${5 * mib + 3}` }),
    );
    expect(await bodyOf(across)).toEqual(bytes.subarray(5 * mib - 3, 5 * mib + 4));
    const part = await s3.send(new GetObjectCommand({ Bucket, Key: 'large', PartNumber: 3 }));
    expect(part.PartsCount).toBe(3);
    expect((await bodyOf(part)).equals(bytes.subarray(10 * mib))).toBe(true);
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
      new UploadPartCommand({ ...target, PartNumber: 2, Body: randomBytes(5 * mib), ChecksumAlgorithm: 'CRC32' }),
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
    await s3.send(new AbortMultipartUploadCommand(target));
    expect((await complete([parts[1]!])).name).toBe('NoSuchUpload');
    expect((await s3.send(new ListMultipartUploadsCommand({ Bucket }))).Uploads ?? []).toEqual([]);
  });

  test('a full-object CRC of a multipart upload is that of the whole', async () => {
    const bytes = randomBytes(5 * mib + 1000);
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
    for (const [index, Body] of [bytes.subarray(0, 5 * mib), bytes.subarray(5 * mib)].entries()) {
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
});

test('acknowledged changes in disk mode survive a restart, and nothing is left over', async () => {
  const where = join(folder, 'restart');
  const first = await startS3Sandbox({ folder: where, buckets: ['kept'] });
  const bytes = randomBytes(6 * mib);
  const s3 = clientOf(first);
  await new Upload({ client: s3, params: { Bucket: 'kept', Key: 'large', Body: bytes }, partSize: 5 * mib }).done();
  await s3.send(new PutObjectCommand({ Bucket: 'kept', Key: 'gone', Body: 'x' }));
  await s3.send(new DeleteObjectCommand({ Bucket: 'kept', Key: 'gone' }));
  await first.stop();
  const second = await startS3Sandbox({ folder: where });
  const again = clientOf(second);
  const got = await again.send(new GetObjectCommand({ Bucket: 'kept', Key: 'large' }));
  expect((await bodyOf(got)).equals(bytes)).toBe(true);
  expect((await failure(again.send(new GetObjectCommand({ Bucket: 'kept', Key: 'gone' })))).name).toBe('NoSuchKey');
  expect(readdirSync(join(where, 'data'))).toHaveLength(2);
  await second.stop();
});
