import { CreateBucketCommand, PutBucketVersioningCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { describe } from 'vitest';
import { blobStoreConformance } from '../conformance/blob-store.conformance.ts';
import { isForeignS3Installed, startForeignS3 } from '../testing/foreign-s3.ts';
import { createS3Client } from './s3/client.ts';
import { createS3Store, type S3StoreOptions } from './s3/s3-store.ts';

const mib = 1024 * 1024;

/** Whatever our own sandbox allows, a service of other hands has the last word. */
describe.skipIf(!isForeignS3Installed)('an S3 of other hands', () => {
  blobStoreConformance('foreign S3', { largeBytes: 11 * mib, manyObjects: 1100 }, async () => {
    const foreign = await startForeignS3();
    const options: S3StoreOptions = {
      kind: 's3',
      region: 'us-east-1',
      bucket: 'plain',
      prefix: 'some/folder',
      endpoint: foreign.endpoint,
      forcePathStyle: true,
      credentials: foreign.credentials,
      retry: { delayMsMin: 1, delayMsMax: 20 },
      partBytes: 5 * mib,
    };
    const { client } = createS3Client(options);
    await client.send(new CreateBucketCommand({ Bucket: 'plain' }));
    await client.send(new CreateBucketCommand({ Bucket: 'locking', ObjectLockEnabledForBucket: true }));
    await client.send(new CreateBucketCommand({ Bucket: 'versions' }));
    const VersioningConfiguration = { Status: 'Enabled' as const };
    await client.send(new PutBucketVersioningCommand({ Bucket: 'versions', VersioningConfiguration }));
    const [store, lockable, versioned] = ['plain', 'locking', 'versions'].map((bucket) =>
      createS3Store({ ...options, bucket }),
    ) as [ReturnType<typeof createS3Store>, ReturnType<typeof createS3Store>, ReturnType<typeof createS3Store>];
    return {
      store,
      lockable,
      unlockable: store,
      versioned,
      // Nobody can tell it to fail.
      setFaults: () => undefined,
      async layForeign(key, Body) {
        await client.send(new PutObjectCommand({ Bucket: 'plain', Key: `some/folder/${key}`, Body }));
      },
      async close() {
        client.destroy();
        for (const one of [store, lockable, versioned]) await one.close();
        await foreign.stop();
      },
    };
  });
});
