import type { RestoreRow } from './restore-store.ts';

/** Of many paths the log keeps the first. */
const pathsMax = 20;

type Subject = Pick<
  RestoreRow,
  'projectId' | 'targetProjectId' | 'undoOf' | 'collections' | 'documentPaths' | 'items' | 'dryRun'
>;

/** What a restore is of, for every entry about it: who reads the log years later may not find the restore itself. */
export function restoreSubject(row: Subject): Record<string, unknown> {
  const documents = row.documentPaths ?? row.items?.map(({ path }) => path);
  return {
    projectId: row.projectId,
    targetProjectId: row.targetProjectId,
    ...(row.undoOf ? { undoOf: row.undoOf } : {}),
    ...(row.collections ? { collections: row.collections.slice(0, pathsMax) } : {}),
    ...(documents ? { documents: documents.slice(0, pathsMax), documentCount: documents.length } : {}),
    ...(row.dryRun ? { dryRun: true } : {}),
  };
}
