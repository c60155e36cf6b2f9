import { useAll } from '../../api/calls.ts';
import { useNewestBackup } from '../../api/newest-backup.ts';
import { isMatch } from '../browse/collections-below.ts';

/** The number of other documents in the collection, by the newest backup; unknown for subcollections. */
export function useOthers(projectId: string, path: string): number | undefined {
  const { backup } = useNewestBackup(projectId);
  const tree = useAll(
    'listBackupCollections',
    { params: { backupId: backup?.id ?? '' } },
    { enabled: backup !== undefined, everyMs: false },
  );
  const collection = path.split('/').slice(0, -1).join('/');
  const here = collection.includes('/') ? undefined : tree.rows?.find((node) => isMatch(node.path, collection));
  return here && here.documentCount - 1;
}
