interface Node {
  readonly id: string;
  readonly path: string;
  readonly collections: readonly Node[];
}

/** `users`, any document, `orders` stands for the orders of every user. */
export function isMatch(pattern: string, collection: string): boolean {
  const [a, b] = [pattern.split('/'), collection.split('/')];
  return a.length === b.length && a.every((part, index) => (index % 2 === 1 && part === '*') || part === b[index]);
}

/** Names of collections that may exist below a document: those below any document of its collection. */
export function collectionsBelow(nodes: readonly Node[], path: string): string[] {
  const collection = path.split('/').slice(0, -1).join('/');
  const here = nodes.find((node) => isMatch(node.path, collection));
  if (here) return here.collections.map(({ id }) => id);
  return nodes.flatMap((node) => collectionsBelow(node.collections, path));
}
