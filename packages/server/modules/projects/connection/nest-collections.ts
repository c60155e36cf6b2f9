import type { ItemOf, Operations } from '@holdfast/contract';

export type CollectionView = ItemOf<Operations['listProjectCollections']>;

const childrenMax = 1000;

// Shapes such as `users/*/orders` as a tree; a collection stays below its parent even if the parent holds no documents.
export function nestCollections(
  listed: Iterable<{ path: string; documents: number; isSampled?: boolean }>,
): CollectionView[] {
  const roots: CollectionView[] = [];
  const byPath = new Map<string, CollectionView>();
  const nodeAt = (path: string): CollectionView => {
    const known = byPath.get(path);
    if (known) return known;
    const segments = path.split('/');
    const id = segments.at(-1) as string;
    const node: CollectionView = { id, path, documentCount: 0, sampled: false, collections: [] };
    byPath.set(path, node);
    const siblings = segments.length > 2 ? nodeAt(segments.slice(0, -2).join('/')).collections : roots;
    if (siblings === roots || siblings.length < childrenMax) siblings.push(node);
    return node;
  };
  for (const { path, documents, isSampled = false } of listed) {
    const node = nodeAt(path);
    node.documentCount += documents;
    node.sampled ||= isSampled;
  }
  return roots;
}
