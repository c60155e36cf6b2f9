import { isEngineError, restoreScope, type Scope } from '@holdfast/engine';
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
    if (!isEngineError(error, 'VALIDATION_ERROR')) throw error;
    throw invalid(String(error.details.field), String(error.details.reason));
  }
}

export function scopeOfRestore(row: RestoreRow, { scope }: RestoreSource): Scope {
  return row.items ? scope : askedScope(scope, row);
}
