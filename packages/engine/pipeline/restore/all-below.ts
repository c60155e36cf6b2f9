import { documentsScope, type Scope } from '../../ports/document-source.ts';
import { EngineError } from '../../ports/errors.ts';
import { treesAround } from '../view/selection.ts';
import type { View } from '../view/view.ts';

/** They are named one by one from then on; collections are the way for more. */
const documentsMax = 10_000;

/**
 * The documents, and whatever the view holds below them, read in one pass. One of which it holds nothing stays named, so that
 * it is missed.
 */
export async function withAllBelow(
  view: View,
  documents: readonly string[],
  options: { readonly signal?: AbortSignal } = {},
): Promise<Scope> {
  const { documents: trees = [] } = documentsScope(documents);
  const missing = new Set(trees);
  const found: string[] = [];
  for await (const page of view.entries({ trees }, options))
    for (const { path } of page) {
      const around = [...treesAround(trees, path)];
      for (const document of around) missing.delete(document);
      if (found.push(path) > documentsMax) throw tooMany(around[0]!);
    }
  return documentsScope([...found, ...missing]);
}

function tooMany(document: string): EngineError {
  const reason = `with what lies below ${document.slice(0, 200)} these are more than ${documentsMax} documents; name its collections instead`;
  return new EngineError('VALIDATION_ERROR', `documentIds: ${reason}.`, { details: { field: 'documentIds', reason } });
}
