import { type BrowseOptions, browse, readRecords, type Scope, type View } from '@holdfast/engine';
import { type DocumentView, presentDocument } from './present-contents.ts';

/** A page is cut short where its documents together exceed this. */
const pageBytesMax = 8 * 1024 * 1024;

export interface DocumentPage {
  documents: DocumentView[];
  hasMore: boolean;
}

/** One page of documents: the indexes say which they are, and then only the segments that hold them are read. */
export async function readDocuments(view: View, options: BrowseOptions): Promise<DocumentPage> {
  const found = await browse(view, options);
  let bytes = 0;
  const entries = found.entries.filter(({ size }, index) => {
    bytes += size;
    return index === 0 || bytes <= pageBytesMax;
  });
  const paths = entries.map(({ path }) => path);
  // Hits of a search over everything are spread out; those of one collection are neighbours.
  const isSpread = options.collection === undefined && options.prefix !== undefined;
  const bodies = isSpread ? singly(view, paths, options.signal) : together(view, paths, options);
  const documents: DocumentView[] = [];
  const snapshotTime = view.body?.snapshotTime ?? '';
  for await (const { path, body } of bodies) documents.push(presentDocument(path, body, snapshotTime));
  return { documents, hasMore: found.hasMore || entries.length < found.entries.length };
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

async function* together(view: View, paths: readonly string[], options: BrowseOptions): AsyncGenerator<Body> {
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
  for await (const batch of view.records(selection, options)) {
    for (const { path, body } of readRecords(batch, view.database)) {
      if (wanted.has(path)) yield { path, body };
      if (path === last) return;
    }
  }
}
