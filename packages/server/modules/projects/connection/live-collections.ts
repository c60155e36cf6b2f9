import type { ItemOf, Operations } from '@holdfast/contract';
import { toProblem } from '../../job-error.ts';
import type { ConnectionFields, SourceOpener } from './open-source.ts';

export type CollectionView = ItemOf<Operations['listProjectCollections']>;

/** The collections of the live database with their counts, as one consistent picture. */
export async function readCollections(
  sources: SourceOpener,
  project: ConnectionFields,
  signal: AbortSignal,
): Promise<CollectionView[]> {
  try {
    const firestore = await sources.open(project);
    try {
      const readTime = await firestore.source.snapshotTime({ signal });
      const nodes = await firestore.source.collectionTree({ readTime, signal });
      return nodes.map((node) => ({
        id: node.path,
        path: node.path,
        documentCount: node.documentCount,
        collections: node.subcollections.map(({ id, documentCount }) => ({
          id,
          path: `${node.path}/*/${id}`,
          documentCount,
          collections: [],
        })),
      }));
    } finally {
      await firestore.close();
    }
  } catch (error) {
    throw toProblem(error);
  }
}
