import { documentsScope, type Scope } from '../../ports/document-source.ts';
import { EngineError } from '../../ports/errors.ts';
import { treesContaining } from '../view/selection.ts';
import type { View } from '../view/view.ts';

/** The scope names each document, so there is a limit. For more, name collections. */
const documentsMax = 10_000;

/**
 * The documents and everything the view holds below them, found in one pass. A document with nothing in the view stays
 * in the scope, so that it is reported as missing.
 */
export async function withDescendants(
  view: View,
  documents: readonly string[],
  options: { readonly signal?: AbortSignal } = {},
): Promise<Scope> {
  const { documents: trees = [] } = documentsScope(documents);
  const missing = new Set(trees);
  const found: string[] = [];
  for await (const page of view.entries({ trees }, options))
    for (const { path } of page) {
      const around = [...treesContaining(trees, path)];
      for (const document of around) missing.delete(document);
      if (found.push(path) > documentsMax) throw tooMany(around[0]!);
    }
  return documentsScope([...found, ...missing]);
}

function tooMany(document: string): EngineError {
  const reason = `with what lies below ${document.slice(0, 200)} these are more than ${documentsMax} documents; name its collections instead`;
  return new EngineError('VALIDATION_ERROR', `documentIds: ${reason}.`, { details: { field: 'documentIds', reason } });
}
