import { documentsScope, isEngineError, restoreScope, type Scope, withDescendants, withinFile } from '@holdfast/engine';
import { invalid, Problem } from '../../../platform/problem.ts';
import type { RestoreSource } from '../restore-source.ts';
import type { RestoreRow } from '../restore-store.ts';

type Asked = Pick<RestoreRow, 'collections' | 'documentPaths' | 'deleteExtra'> & { includeSubcollections?: boolean };

/**
 * The scope of a restore: what was requested, within what the backup covers. VALIDATION_ERROR when more was requested.
 */
export function askedScope(covered: Scope, asked: Asked): Scope {
  try {
    return restoreScope(covered, {
      collections: asked.collections ?? undefined,
      documents: asked.documentPaths ?? undefined,
      includeSubcollections: asked.includeSubcollections,
      deleteExtra: asked.deleteExtra,
    });
  } catch (error) {
    throw asProblem(error);
  }
}

function asProblem(error: unknown): never {
  if (!isEngineError(error, 'VALIDATION_ERROR') || error.details.field === undefined) throw error;
  throw invalid(String(error.details.field), String(error.details.reason));
}

function equalised(...asked: Parameters<typeof withinFile>): Scope {
  try {
    return withinFile(...asked);
  } catch (error) {
    if (!isEngineError(error, 'VALIDATION_ERROR')) throw error;
    throw new Problem(error.details.field === 'collections' ? 'COLLECTION_NOT_FOUND' : 'INVALID_STATE', error.message);
  }
}

export async function scopeOfRestore(
  row: RestoreRow,
  { scope, view }: RestoreSource,
  signal: AbortSignal,
): Promise<Scope> {
  if (row.items) return scope;
  const { documents, ...others } = askedScope(scope, row);
  if (documents === undefined) return row.deleteExtra && view.body ? equalised(others, view.body) : others;
  return row.takesBelow ? withDescendants(view, documents, { signal }).catch(asProblem) : documentsScope(documents);
}
