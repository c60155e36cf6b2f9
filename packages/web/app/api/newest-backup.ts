import type { Backup } from '@holdfast/contract';
import { useRead } from './calls.ts';

/** How many backups are read: restores leave safety backups, which may come before the last ordinary one. */
const lookedAt = 100;

const isWhole = ({ scope }: Backup) =>
  scope.collections.includes('*') && scope.excludeCollections.length === 0 && scope.includeSubcollections;
const isOwn = ({ trigger, importedFrom }: Backup) =>
  trigger !== 'pre_restore' && (importedFrom === null || importedFrom === 'holdfast');

/** The time the data is from, not the time the backup ended. */
export const asOf = ({ snapshotTime, createdAt }: Backup) => snapshotTime ?? createdAt;

/** Sorted by the time of their data: a merge of older backups is listed first, but its data is older. */
export const newestDataFirst = (backups: readonly Backup[]) =>
  backups.toSorted((a, b) => Date.parse(asOf(b)) - Date.parse(asOf(a)));

/**
 * The newest backup to look documents up in. Safety backups, backups of some collections and imported files hold only a part of
 * the database: they are taken only if there is nothing else.
 */
export function newestAmong(backups: readonly Backup[]): Backup | undefined {
  const known = newestDataFirst(backups);
  const ordinary = known.filter(isOwn);
  return ordinary.find(isWhole) ?? ordinary[0] ?? known[0];
}

/** The query that finds it. */
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
    /** The newest completed backups. */
    backups,
    backup: backups && newestAmong(backups),
    error,
    refetch,
  };
}
