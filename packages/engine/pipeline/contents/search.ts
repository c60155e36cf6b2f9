import { decodeDocument, type JsonValue } from '../../format/document-json.ts';
import { readRecords } from '../segments/read-records.ts';
import type { Selection } from '../view/selection.ts';
import type { View } from '../view/view.ts';
import type { BrowseOptions } from './browse.ts';

export interface SearchOptions extends BrowseOptions {
  /** Searched in document ids and in string values at any depth, ignoring case. */
  readonly text: string;
  /** The time limit of a page; after it the page ends, even without results. */
  readonly budgetMs: number;
  /** A page ends when its documents exceed this size. */
  readonly bytesMax?: number;
  /** Resolves when the next batch may be searched: all batches of a segment are available at once. */
  readonly turn?: () => Promise<void>;
}

export interface SearchPage {
  readonly found: readonly { readonly path: string; readonly body: Uint8Array }[];
  readonly scanned: number;
  /** The last document that was searched; null when there are no more. */
  readonly stoppedAt: string | null;
}

/** One page of a search through the documents themselves. */
export async function search(view: View, options: SearchOptions): Promise<SearchPage> {
  const { limit, budgetMs, bytesMax = Number.POSITIVE_INFINITY } = options;
  const endMs = performance.now() + budgetMs;
  const wanted = options.text.toLowerCase();
  const found: { path: string; body: Uint8Array }[] = [];
  let [scanned, bytes] = [0, 0];
  for await (const batch of view.records(selectionOf(options), options)) {
    await options.turn?.();
    for (const { path, body } of readRecords(batch, view.database)) {
      scanned += 1;
      if (holds(path, body, wanted)) {
        found.push({ path, body: body.slice() });
        bytes += body.length;
      }
      if (found.length === limit || bytes > bytesMax || performance.now() > endMs)
        return { found, scanned, stoppedAt: path };
    }
  }
  return { found, scanned, stoppedAt: null };
}

function selectionOf({ collection, prefix, after, includeSubcollections }: SearchOptions): Selection {
  return {
    scope: {
      collections: collection === undefined ? 'all' : [collection],
      includeSubcollections: collection === undefined || (includeSubcollections ?? false),
      excludeCollections: [],
    },
    ...(prefix === undefined || prefix === '' ? {} : { idPrefix: prefix }),
    ...(after === undefined ? {} : { after }),
  };
}

function holds(path: string, body: Uint8Array, wanted: string): boolean {
  const id = path.slice(path.lastIndexOf('/') + 1);
  if (id.toLowerCase().includes(wanted)) return true;
  return Object.values(decodeDocument(body).fields).some((value) => valueHolds(value, wanted));
}

function valueHolds(value: JsonValue, wanted: string): boolean {
  if ('stringValue' in value) return value.stringValue.toLowerCase().includes(wanted);
  if ('arrayValue' in value) return (value.arrayValue.values ?? []).some((inner) => valueHolds(inner, wanted));
  if ('mapValue' in value) return Object.values(value.mapValue.fields ?? {}).some((inner) => valueHolds(inner, wanted));
  return false;
}
