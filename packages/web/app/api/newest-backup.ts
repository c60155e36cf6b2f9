import type { Backup } from '@holdfast/contract';
import { useRead } from './calls.ts';

/** So many restores in a row leave so many safety backups in front of the last ordinary one. */
const lookedAt = 100;

const isWhole = ({ scope }: Backup) =>
  scope.collections.includes('*') && scope.excludeCollections.length === 0 && scope.includeSubcollections;
const isOwn = ({ trigger, importedFrom }: Backup) =>
  trigger !== 'pre_restore' && (importedFrom === null || importedFrom === 'holdfast');

/** What can be got back is as old as this, however long the backup took. */
export const asOf = ({ snapshotTime, createdAt }: Backup) => snapshotTime ?? createdAt;

/** By what they hold: a merge of older backups is made after the newest one, and is listed before it. */
export const newestDataFirst = (backups: readonly Backup[]) =>
  backups.toSorted((a, b) => Date.parse(asOf(b)) - Date.parse(asOf(a)));

/**
 * The newest backup in which a document can be looked up. A safety backup holds what one restore overwrote, and a backup of
 * some collections nothing of the others, and one made of a file whatever that held: they are taken only where there is nothing else.
 */
export function newestAmong(backups: readonly Backup[]): Backup | undefined {
  const known = newestDataFirst(backups);
  const ordinary = known.filter(isOwn);
  return ordinary.find(isWhole) ?? ordinary[0] ?? known[0];
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
  const backups = data && newestDataFirst(data.data);
  return {
    isRead: backups !== undefined,
    /** The newest completed ones. */
    backups,
    backup: backups && newestAmong(backups),
    error,
    refetch,
  };
}
