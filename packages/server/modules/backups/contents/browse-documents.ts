import {
  type BrowseOptions,
  browse,
  readRecords,
  type Scope,
  type SearchOptions,
  search,
  TimeBudget,
  type View,
} from '@holdfast/engine';
import { type DocumentView, presentDocument } from './present-contents.ts';

/** A page is cut short where its documents together exceed this. */
const pageBytesMax = 8 * 1024 * 1024;
/** A page is also cut short after this time; a page without a hit may be empty and still have a next page. */
const pageMs = 5000;

export interface DocumentPage {
  documents: DocumentView[];
  /** Behind which path the next page begins; null when this is the last. */
  next: string | null;
  /** How many documents a search has looked at. */
  scanned?: number;
}

/** One page of what a search through the documents finds. */
export async function searchDocuments(
  view: View,
  text: string,
  options: BrowseOptions & Pick<SearchOptions, 'turn'>,
): Promise<DocumentPage> {
  const page = await search(view, { ...options, text, budgetMs: pageMs, bytesMax: pageBytesMax });
  const snapshotTime = view.body?.snapshotTime ?? '';
  const documents = page.found.map(({ path, body }) => presentDocument(path, body, snapshotTime));
  return { documents, next: page.stoppedAt, scanned: page.scanned };
}

/** One page of documents. The indexes tell which documents, and only the segments that hold them are read. */
export async function readDocuments(
  view: View,
  options: Omit<BrowseOptions, 'budgetMs'>,
  budgetMs = pageMs,
): Promise<DocumentPage> {
  const found = await browse(view, { ...options, budgetMs });
  const budget = new TimeBudget(budgetMs);
  let bytes = 0;
  const entries = found.entries.filter(({ size }, index) => {
    bytes += size;
    return index === 0 || bytes <= pageBytesMax;
  });
  const paths = entries.map(({ path }) => path);
  // Hits of a search over all collections are far apart; documents of one collection are neighbours.
  const isSpread = options.collection === undefined && options.prefix !== undefined;
  const bodies = isSpread ? singly(view, paths, options.signal) : together(view, paths, options, budget);
  const documents: DocumentView[] = [];
  const snapshotTime = view.body?.snapshotTime ?? '';
  for await (const { path, body } of bodies) {
    documents.push(presentDocument(path, body, snapshotTime));
    if (documents.length < paths.length && budget.isUp) return { documents, next: path };
  }
  if (documents.length < paths.length && budget.stoppedAt !== undefined) return { documents, next: budget.stoppedAt };
  return { documents, next: entries.length < found.entries.length ? (paths.at(-1) ?? null) : (found.next ?? null) };
}

/** The same, starting at a path. If there is no document with this path, the page starts with the next one. */
export async function readDocumentsFrom(
  view: View,
  path: string,
  { limit, ...options }: Omit<BrowseOptions, 'budgetMs' | 'after'>,
): Promise<DocumentPage> {
  const slash = path.lastIndexOf('/');
  const isWanted =
    (options.collection === undefined || options.collection === path.slice(0, slash)) &&
    path.slice(slash + 1).startsWith(options.prefix ?? '');
  const body = isWanted ? await view.get(path, options.signal ? { signal: options.signal } : {}) : undefined;
  const first = body ? [presentDocument(path, body, view.body?.snapshotTime ?? '')] : [];
  if (first.length === limit) return { documents: first, next: path };
  const rest = await readDocuments(view, { ...options, after: path, limit: limit - first.length });
  return { ...rest, documents: [...first, ...rest.documents] };
}

interface Body {
  path: string;
  body: Uint8Array;
}

async function* singly(view: View, paths: readonly string[], signal: AbortSignal | undefined): AsyncGenerator<Body> {
  for (const path of paths) {
    const body = await view.get(path, signal ? { signal } : {});
    if (body) yield { path, body };
  }
}

async function* together(
  view: View,
  paths: readonly string[],
  options: Omit<BrowseOptions, 'budgetMs'>,
  { goesOn }: TimeBudget,
): AsyncGenerator<Body> {
  const last = paths.at(-1);
  if (last === undefined) return;
  const wanted = new Set(paths);
  const { collection, prefix, after } = options;
  const scope: Scope = {
    collections: collection === undefined ? 'all' : [collection],
    includeSubcollections: collection === undefined,
    excludeCollections: [],
  };
  const selection = {
    scope,
    ...(prefix === undefined ? {} : { idPrefix: prefix }),
    ...(after === undefined ? {} : { after }),
  };
  for await (const batch of view.records(selection, { ...options, goesOn })) {
    for (const { path, body } of readRecords(batch, view.database)) {
      if (wanted.has(path)) yield { path, body };
      if (path === last) return;
    }
  }
}
