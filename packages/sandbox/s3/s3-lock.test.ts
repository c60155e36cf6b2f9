import {
  CreateBucketCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectLegalHoldCommand,
  GetObjectLockConfigurationCommand,
  GetObjectRetentionCommand,
  HeadObjectCommand,
  PutObjectCommand,
  PutObjectLegalHoldCommand,
  PutObjectLockConfigurationCommand,
  PutObjectRetentionCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type S3Sandbox, startS3Sandbox } from './server.ts';
import { clientOf, failure } from './testing.ts';

describe('object lock', () => {
  const Bucket = 'locked';
  let nowMs = Date.parse('2026-01-01T00:00:00Z');
  let sandbox: S3Sandbox;
  let s3: S3Client;
  const dayMs = 24 * 3600 * 1000;

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
        ...(ObjectLockMode && { ObjectLockMode, ObjectLockRetainUntilDate: new Date(nowMs + dayMs) }),
      }),
    );
  const remove = (Key: string, VersionId: string | undefined, BypassGovernanceRetention?: boolean) =>
    failure(s3.send(new DeleteObjectCommand({ Bucket, Key, VersionId, BypassGovernanceRetention })));

  test('compliance protects a version from everyone until its time', async () => {
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
    nowMs += dayMs + 1000;
    s3.config.systemClockOffset = nowMs - Date.now();
    expect((await remove('c', VersionId)).name).toBe('no error');
  });

  test('governance yields only to an explicit request', async () => {
    const { VersionId } = await put('g', 'GOVERNANCE');
    expect((await remove('g', VersionId)).name).toBe('AccessDenied');
    const { Retention } = await s3.send(new GetObjectRetentionCommand({ Bucket, Key: 'g', VersionId }));
    expect(Retention).toEqual({ Mode: 'GOVERNANCE', RetainUntilDate: new Date(nowMs + dayMs) });
    expect((await remove('g', VersionId, true)).name).toBe('no error');
  });

  test('a legal hold lasts until it is removed', async () => {
    const { VersionId } = await put('h');
    await s3.send(new PutObjectLegalHoldCommand({ Bucket, Key: 'h', LegalHold: { Status: 'ON' } }));
    expect((await remove('h', VersionId, true)).name).toBe('AccessDenied');
    expect((await s3.send(new GetObjectLegalHoldCommand({ Bucket, Key: 'h' }))).LegalHold?.Status).toBe('ON');
    const batch = await s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects: [{ Key: 'h', VersionId }] } }));
    expect(batch.Errors).toMatchObject([{ Key: 'h', Code: 'AccessDenied' }]);
    await s3.send(new PutObjectLegalHoldCommand({ Bucket, Key: 'h', LegalHold: { Status: 'OFF' } }));
    expect((await remove('h', VersionId)).name).toBe('no error');
  });

  test("a bucket's default retention applies to new objects", async () => {
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
    expect(Retention?.RetainUntilDate).toEqual(new Date(nowMs + 3 * dayMs));
  });

  test('a bucket without object lock refuses locks', async () => {
    await s3.send(new CreateBucketCommand({ Bucket: 'open' }));
    const locked = s3.send(
      new PutObjectCommand({
        Bucket: 'open',
        Key: 'x',
        Body: Buffer.alloc(0),
        ObjectLockMode: 'GOVERNANCE',
        ObjectLockRetainUntilDate: new Date(nowMs + dayMs),
      }),
    );
    expect((await failure(locked)).name).toBe('InvalidRequest');
  });
});
