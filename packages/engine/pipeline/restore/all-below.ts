import { documentsScope, type Scope } from '../../ports/document-source.ts';
import { EngineError } from '../../ports/errors.ts';
import { comparePaths } from '../../ports/path-order.ts';
import type { View } from '../view/view.ts';

/** They are named one by one from then on; collections are the way for more. */
const documentsMax = 10_000;

/** The documents, and whatever the view holds below them. One of which it holds nothing stays named, so that it is missed. */
export async function withAllBelow(
  view: View,
  documents: readonly string[],
  options: { readonly signal?: AbortSignal } = {},
): Promise<Scope> {
  const found = new Set<string>();
  for (const document of documents) {
    let isThere = false;
    for await (const path of stretchOf(view, document, options)) {
      isThere = true;
      found.add(path);
      if (found.size > documentsMax) throw tooMany(document);
    }
    if (!isThere) found.add(document);
  }
  return documentsScope([...found].sort(comparePaths));
}

/** A document and all below it follow each other. */
async function* stretchOf(
  view: View,
  document: string,
  options: { readonly signal?: AbortSignal },
): AsyncGenerator<string> {
  for await (const page of view.entries({ range: { start: document, end: null } }, options))
    for (const { path } of page) {
      if (path !== document && !path.startsWith(`${document}/`)) return;
      yield path;
    }
}

function tooMany(document: string): EngineError {
  const reason = `with what lies below ${document.slice(0, 200)} these are more than ${documentsMax} documents; name its collections instead`;
  return new EngineError('VALIDATION_ERROR', `documentIds: ${reason}.`, { details: { field: 'documentIds', reason } });
}
