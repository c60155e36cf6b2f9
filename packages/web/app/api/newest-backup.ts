import type { Backup } from '@holdfast/contract';
import { useRead } from './calls.ts';

/** So many restores in a row leave so many safety backups in front of the last ordinary one. */
const lookedAt = 100;

const isWhole = ({ scope }: Backup) =>
  scope.collections.includes('*') && scope.excludeCollections.length === 0 && scope.includeSubcollections;
const isOwn = ({ trigger, importedFrom }: Backup) =>
  trigger !== 'pre_restore' && (importedFrom === null || importedFrom === 'holdfast');

/**
 * The newest backup in which a document can be looked up. A safety backup holds what one restore overwrote, and a backup of
 * some collections nothing of the others, and one made of a file whatever that held: they are taken only where there is nothing else.
 */
export function newestAmong(backups: readonly Backup[]): Backup | undefined {
  const ordinary = backups.filter(isOwn);
  return ordinary.find(isWhole) ?? ordinary[0] ?? backups[0];
}

/** What is asked to find it. */
export const newestInput = (projectId: string) => ({
  query: { projectId, status: 'completed' as const, limit: lookedAt },
});

export function useNewestBackup(projectId: string | undefined) {
  const { data, error, refetch } = useRead('listBackups', newestInput(projectId ?? ''), {
    enabled: projectId !== undefined,
    everyMs: false,
  });
  const backups = data?.data;
  return {
    isRead: backups !== undefined,
    /** The newest completed ones. */
    backups,
    backup: backups && newestAmong(backups),
    error,
    refetch,
  };
}
