import type { Scope } from '../../ports/document-source.ts';
import type { Selection } from '../view/selection.ts';
import type { View, ViewEntry, ViewReadOptions } from '../view/view.ts';

export interface BrowseOptions extends ViewReadOptions {
  /** A collection's path; absent: search everywhere. */
  readonly collection?: string;
  readonly includeSubcollections?: boolean;
  /** A prefix of the document id. */
  readonly prefix?: string;
  /** The last path of the page before. */
  readonly after?: string;
  readonly limit: number;
}

export interface BrowsePage {
  readonly entries: readonly ViewEntry[];
  readonly hasMore: boolean;
}

/** One page of a listing or of a search by id prefix; reads indexes, never documents. */
export async function browse(view: View, options: BrowseOptions): Promise<BrowsePage> {
  const { collection, prefix, after, limit } = options;
  const scope: Scope = {
    collections: collection === undefined ? 'all' : [collection],
    includeSubcollections: collection === undefined || (options.includeSubcollections ?? false),
    excludeCollections: [],
  };
  const selection: Selection = {
    scope,
    ...(prefix === undefined || prefix === '' ? {} : { idPrefix: prefix }),
    ...(after === undefined ? {} : { after }),
  };
  const entries: ViewEntry[] = [];
  for await (const page of view.entries(selection, options)) {
    for (const entry of page) {
      if (entries.length === limit) return { entries, hasMore: true };
      entries.push(entry);
    }
  }
  return { entries, hasMore: false };
}
