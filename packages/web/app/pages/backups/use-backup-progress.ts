import type { Backup, DataOf, Operations } from '@holdfast/contract';
import { useQueryClient } from '@tanstack/react-query';
import { keyOf } from '../../api/calls.ts';
import { clientFor } from '../../api/client.ts';
import { type LiveState, useLive } from '../../api/live.ts';
import { useWorkplace } from '../../api/organization.tsx';
import { announce } from '../../components/announcer.tsx';
import { t } from '../../texts/index.ts';

/** Streams the progress of a running backup into the query cache. */
export function useBackupProgress(backup: Backup | undefined): LiveState {
  const { organization } = useWorkplace();
  const queries = useQueryClient();
  const isRunning = backup !== undefined && (backup.status === 'running' || backup.status === 'pending');
  return useLive(isRunning ? backup.id : null, {
    open: (signal) => clientFor(organization.id).streamBackupEvents({ params: { backupId: backup?.id ?? '' }, signal }),
    onItem: ({ id, status, progress, error }) => {
      const change = (old: Backup): Backup => {
        if (old.id !== id) return old;
        const percent = Math.max(old.progress.percent, progress.percent);
        return { ...old, status, error, progress: { ...progress, percent } };
      };
      queries.setQueryData<DataOf<Operations['getBackup']>>(
        keyOf(organization.id, 'getBackup', { params: { backupId: id } }),
        (old) => old && change(old),
      );
      queries.setQueriesData<{ pages: { data: Backup[] }[]; pageParams: unknown[] }>(
        { queryKey: [organization.id, 'listBackups'] },
        (old) =>
          old && 'pages' in old
            ? { ...old, pages: old.pages.map((page) => ({ ...page, data: page.data.map(change) })) }
            : old,
      );
      const isOver = status !== 'running' && status !== 'pending';
      if (isOver) {
        announce(t.backups.ended(t.jobs.status[status]));
        void queries.invalidateQueries({ queryKey: [organization.id] });
      }
      return !isOver;
    },
  });
}
