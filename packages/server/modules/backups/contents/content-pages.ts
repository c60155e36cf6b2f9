import type { View } from '@holdfast/engine';
import { type Cursors, type PageQuery, pageOf } from '../../../platform/cursor.ts';
import { defined } from '../../../platform/defined.ts';
import { Problem } from '../../../platform/problem.ts';
import { toProblem } from '../../job-error.ts';
import { readDocuments, readDocumentsFrom, searchDocuments } from './browse-documents.ts';

/** Opens, works and always closes. Errors of source and storage become errors of the API. */
export async function withOpened<Opened extends { close(): Promise<void> }, Result>(
  open: () => Promise<Opened>,
  work: (opened: Opened) => Promise<Result>,
): Promise<Result> {
  try {
    const opened = await open();
    try {
      return await work(opened);
    } finally {
      await opened.close();
    }
  } catch (error) {
    throw toProblem(error);
  }
}

/** One page of collections, which are all there at once. */
export function pageOfCollections<Collection extends { path: string }>(
  cursors: Cursors,
  { list, filters, limit, cursor }: PageQuery,
  collections: readonly Collection[],
) {
  const after = cursors.read(list, filters, cursor);
  const start = after === undefined ? 0 : collections.findIndex(({ path }) => path === after) + 1;
  const page = pageOf(collections.slice(start, start + limit + 1), limit, ({ path }) =>
    cursors.write(list, filters, path),
  );
  return { data: page.rows, nextCursor: page.nextCursor };
}

export interface DocumentsQuery {
  collection?: string | undefined;
  prefix?: string | undefined;
  search?: string | undefined;
  /** The path that the first page begins with. */
  from?: string | undefined;
}

/**
 * Throws COLLECTION_NOT_FOUND for a collection without any document. A collection that only has documents below it is
 * empty, but exists.
 */
async function requireCollection(
  name: string,
  view: View,
  collection: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (collection === undefined) return;
  const scope = { collections: [collection], includeSubcollections: true, excludeCollections: [] };
  for await (const page of view.entries({ scope }, { signal })) if (page.length > 0) return;
  throw new Problem('COLLECTION_NOT_FOUND', `${name} holds nothing in ${collection}.`);
}

/** A cursor belongs to its search text, if there is one; cursors from before searches existed stay valid. */
export function searchFilters(search: string | undefined): string[] {
  return search === undefined ? [] : [search];
}

export async function pageOfDocuments(
  cursors: Cursors,
  { list, filters, limit, cursor }: PageQuery,
  { name, view, turn }: { readonly name: string; readonly view: View; readonly turn: () => Promise<void> },
  { collection, prefix, search, from }: DocumentsQuery,
  signal: AbortSignal,
) {
  const after = cursors.read(list, filters, cursor);
  const options = { limit, signal, ...defined({ collection, prefix, after }) };
  const read = () =>
    from === undefined || after !== undefined ? readDocuments(view, options) : readDocumentsFrom(view, from, options);
  const page = await (search === undefined ? read() : searchDocuments(view, search, { ...options, turn }));
  const nextCursor = page.next === null ? null : cursors.write(list, filters, page.next);
  if (page.documents.length === 0 && nextCursor === null) await requireCollection(name, view, collection, signal);
  return { data: page.documents, nextCursor, beside: defined({ scanned: page.scanned }) };
}
