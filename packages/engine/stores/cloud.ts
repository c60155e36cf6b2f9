/**
 * The stores that need a cloud's own client library. Libraries are large: each is loaded when the first store of its kind
 * is opened, and whoever keeps backups in a folder never pays for them.
 */

import type { VersionedBlobStore } from '../ports/index.ts';
import type { GcsStoreOptions } from './gcs/gcs-store.ts';
import type { S3StoreOptions } from './s3/s3-store.ts';

export async function createS3Store(options: S3StoreOptions): Promise<VersionedBlobStore> {
  const s3 = await import('./s3/s3-store.ts');
  return s3.createS3Store(options);
}

export async function createGcsStore(options: GcsStoreOptions): Promise<VersionedBlobStore> {
  const gcs = await import('./gcs/gcs-store.ts');
  return gcs.createGcsStore(options);
}

type ListS3Buckets = typeof import('./s3/buckets.ts').listS3Buckets;
type ListGcsBuckets = typeof import('./gcs/buckets.ts').listGcsBuckets;

export const listS3Buckets: ListS3Buckets = async (...options) => {
  const { listS3Buckets: list } = await import('./s3/buckets.ts');
  return await list(...options);
};

export const listGcsBuckets: ListGcsBuckets = async (...options) => {
  const { listGcsBuckets: list } = await import('./gcs/buckets.ts');
  return await list(...options);
};
