import type { Firestore } from '@google-cloud/firestore';

/** Every document of a database by its path, those below missing documents too. */
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
