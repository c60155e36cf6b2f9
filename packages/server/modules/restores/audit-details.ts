import type { RestoreRow } from './restore-store.ts';

/** The log keeps only the first of many or long paths, because one page shows hundreds of entries. */
const pathsMax = 20;
const pathsCharactersMax = 4_096;

type Subject = Pick<
  RestoreRow,
  'projectId' | 'targetProjectId' | 'undoOf' | 'collections' | 'documentPaths' | 'items' | 'dryRun'
>;

/**
 * What a restore is about, for every audit entry: whoever reads the log years later may not find the restore itself.
 */
export function restoreSubject(row: Subject): Record<string, unknown> {
  const documents = row.documentPaths ?? row.items?.map(({ path }) => path);
  return {
    projectId: row.projectId,
    targetProjectId: row.targetProjectId,
    ...(row.undoOf ? { undoOf: row.undoOf } : {}),
    ...(row.collections ? { collections: firstOf(row.collections) } : {}),
    ...(documents ? { documents: firstOf(documents), documentCount: documents.length } : {}),
    ...(row.dryRun ? { dryRun: true } : {}),
  };
}

function firstOf(paths: readonly string[]): readonly string[] {
  let characters = paths[0]?.length ?? 0;
  const end = paths.findIndex((path, index) => {
    if (index === 0) return false;
    characters += path.length;
    return index === pathsMax || characters > pathsCharactersMax;
  });
  return end === -1 ? paths : paths.slice(0, end);
}
