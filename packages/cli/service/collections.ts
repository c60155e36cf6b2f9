import { formatCount, printJson, printTable } from '../output.ts';
import type { ServiceOptions } from './options.ts';

interface CollectionNode {
  readonly path: string;
  readonly documentCount: number;
  readonly sampled: boolean;
  readonly collections: readonly CollectionNode[];
}

/** The tree of a database or of a backup, indented by level. */
export async function printCollections(nodes: AsyncIterable<CollectionNode>, { json }: ServiceOptions): Promise<void> {
  const collections: CollectionNode[] = [];
  for await (const node of nodes) collections.push(node);
  if (json) printJson({ collections });
  else printTable([['COLLECTION', 'DOCUMENTS'], ...collections.flatMap((node) => rowsOf(node, 0))]);
}

function rowsOf({ path, documentCount, sampled, collections }: CollectionNode, depth: number): string[][] {
  const count = sampled && documentCount === 0 ? 'not counted' : formatCount(documentCount);
  const row = [`${'  '.repeat(depth)}${path}`, count];
  return [row, ...collections.flatMap((node) => rowsOf(node, depth + 1))];
}
