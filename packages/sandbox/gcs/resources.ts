import type { BucketSettings, StoredObject } from './model.ts';
import { retentionExpiresAtMs } from './protection.ts';

const time = (timeMs: number) => new Date(timeMs).toISOString();

export function objectResource(object: StoredObject, bucket: BucketSettings, baseUrl: string): Record<string, unknown> {
  const path = `${encodeURIComponent(bucket.name)}/o/${encodeURIComponent(object.name)}`;
  const expiresAtMs = retentionExpiresAtMs(object, bucket);
  return {
    kind: 'storage#object',
    id: `${bucket.name}/${object.name}/${object.generation}`,
    selfLink: `${baseUrl}/storage/v1/b/${path}`,
    mediaLink: `${baseUrl}/download/storage/v1/b/${path}?generation=${object.generation}&alt=media`,
    name: object.name,
    bucket: bucket.name,
    generation: String(object.generation),
    metageneration: String(object.metageneration),
    storageClass: 'STANDARD',
    size: String(object.size),
    ...(object.md5 !== undefined && { md5Hash: object.md5 }),
    crc32c: object.crc32c,
    ...(object.componentCount !== undefined && { componentCount: object.componentCount }),
    etag: etagOf(object),
    timeCreated: time(object.createdAtMs),
    updated: time(object.updatedAtMs),
    timeStorageClassUpdated: time(object.createdAtMs),
    timeFinalized: time(object.createdAtMs),
    ...(object.deletedAtMs !== undefined && { timeDeleted: time(object.deletedAtMs) }),
    ...(expiresAtMs !== undefined && { retentionExpirationTime: time(expiresAtMs) }),
    ...object.settings,
  };
}

export function etagOf(object: StoredObject): string {
  return Buffer.from(`${object.generation}/${object.metageneration}`).toString('base64');
}

export function bucketResource(bucket: BucketSettings, baseUrl: string): Record<string, unknown> {
  const policy = bucket.retentionPolicy;
  return {
    kind: 'storage#bucket',
    id: bucket.name,
    name: bucket.name,
    selfLink: `${baseUrl}/storage/v1/b/${encodeURIComponent(bucket.name)}`,
    projectNumber: '0',
    metageneration: String(bucket.metageneration),
    location: bucket.location,
    locationType: 'region',
    storageClass: 'STANDARD',
    etag: Buffer.from(String(bucket.metageneration)).toString('base64'),
    timeCreated: time(bucket.createdAtMs),
    updated: time(bucket.updatedAtMs),
    iamConfiguration: { uniformBucketLevelAccess: { enabled: true }, publicAccessPrevention: 'enforced' },
    ...(bucket.defaultEventBasedHold !== undefined && { defaultEventBasedHold: bucket.defaultEventBasedHold }),
    ...(policy && {
      retentionPolicy: {
        retentionPeriod: String(policy.retentionPeriodSeconds),
        effectiveTime: time(policy.effectiveAtMs),
        ...(policy.isLocked && { isLocked: true }),
      },
    }),
    ...(bucket.versioning && { versioning: { enabled: true } }),
    ...(bucket.objectRetention && { objectRetention: { mode: 'Enabled' } }),
  };
}
