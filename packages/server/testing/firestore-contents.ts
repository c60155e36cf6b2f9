import { createHash } from 'node:crypto';
import type { Firestore } from '@google-cloud/firestore';
import { connectFirestore, documentContent, everything, readRecords, wholeDatabase } from '@holdfast/engine';

/** Every document of a database by its path, including those below missing documents. */
export async function contentsOf(firestore: Firestore): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  const visit = async (collections: Awaited<ReturnType<Firestore['listCollections']>>): Promise<void> => {
    for (const collection of collections)
      for (const reference of await collection.listDocuments()) {
        const document = await reference.get();
        if (document.exists) found[reference.path] = document.data();
        await visit(await reference.listCollections());
      }
  };
  await visit(await firestore.listCollections());
  return found;
}

/** Names and contents of all documents of an emulated project, in order. */
export async function fingerprintsOf(host: string, projectId: string): Promise<string[]> {
  const { source, close } = connectFirestore({ projectId, connection: { type: 'emulator', host } });
  const found: string[] = [];
  const readTime = await source.snapshotTime();
  for await (const batch of source.scan(everything, { scope: wholeDatabase, readTime }))
    for (const { path, body } of readRecords(batch, source.database))
      found.push(`${path} ${createHash('sha256').update(documentContent(body)).digest('hex').slice(0, 16)}`);
  await close();
  return found;
}
