import { documentsScope, isEngineError, restoreScope, type Scope, withAllBelow } from '@holdfast/engine';
import { invalid } from '../../../platform/problem.ts';
import type { RestoreSource } from '../restore-source.ts';
import type { RestoreRow } from '../restore-store.ts';

type Asked = Pick<RestoreRow, 'collections' | 'documentPaths' | 'deleteExtra'> & { includeSubcollections?: boolean };

/** What a restore touches: what was asked, within what the backup covers. VALIDATION_ERROR when more was asked. */
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

export async function scopeOfRestore(
  row: RestoreRow,
  { scope, view }: RestoreSource,
  signal: AbortSignal,
): Promise<Scope> {
  if (row.items) return scope;
  const { documents, ...others } = askedScope(scope, row);
  if (documents === undefined) return others;
  return row.takesBelow ? withAllBelow(view, documents, { signal }).catch(asProblem) : documentsScope(documents);
}
