import { createS3Store } from '@holdfast/engine';
import { bucketAt, type World } from './world.ts';

/** Where a file of the single-file format lies, in the bucket of everybody. */
export const importPath = 'foreign/backup.json';
const importedDocuments = 5000;

export async function putForeignFile({ s3 }: Pick<World, 's3'>): Promise<void> {
  const users = Object.fromEntries(
    Array.from({ length: importedDocuments }, (_, index) => [`u${index}`, { name: `User ${index}`, index }]),
  );
  const { bucket, endpoint, region, credentials } = bucketAt(s3);
  const store = await createS3Store({ kind: 's3', bucket, endpoint, region, forcePathStyle: true, credentials });
  await store.put(importPath, Buffer.from(JSON.stringify({ users })));
  await store.close();
}
