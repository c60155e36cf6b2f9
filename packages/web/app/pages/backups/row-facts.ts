import type { Backup } from '@holdfast/contract';
import { useQueries } from '@tanstack/react-query';
import { useMemo } from 'react';
import { keyOf, useAll, useRead } from '../../api/calls.ts';
import { clientFor } from '../../api/client.ts';
import { useCan, useWorkplace } from '../../api/organization.tsx';
import { usePaths } from '../../url.ts';
import { isSafety } from './shared.tsx';

/** Facts about listed backups from other records: schedules, drills, restores, retention. */
export interface RowFacts {
  readonly scheduleName: (backup: Backup) => string | undefined;
  readonly isDrilled: (backup: Backup) => boolean;
  /** The link to undo the restore that made this safety backup, if the person may. */
  readonly undoTo: (backup: Backup) => string | undefined;
  readonly kept: (backup: Backup) => KeptUntil | undefined;
}

interface KeptUntil {
  readonly removedAt: string | null;
  /** Other backups depend on it. */
  readonly isNeeded: boolean;
}

const lookedAt = 100;
/** Each schedule is a call. */
const schedulesMax = 6;

export function useRowFacts(rows: readonly Backup[] | undefined): RowFacts {
  const paths = usePaths();
  const canUndo = useCan('member');
  const schedules = useAll('listSchedules', {}).rows;
  const drills = useRead('listAllDrills', { query: { limit: lookedAt } }).data;
  const hasSafety = canUndo && (rows?.some(isSafety) ?? false);
  const restores = useRead('listRestores', { query: { limit: lookedAt, dryRun: false } }, { enabled: hasSafety }).data;
  const kept = useKept(rows);
  return useMemo(() => {
    const names = new Map(schedules?.map(({ id, name }) => [id, name]));
    const drilled = new Set(drills?.data.filter(({ passed }) => passed).map(({ backupId }) => backupId));
    const undoable = restores?.data.filter(
      ({ undoneBy, undoOf, status }) => !undoneBy && !undoOf && status !== 'running' && status !== 'pending',
    );
    const restoreOf = new Map(undoable?.map(({ safetyBackupId, id }) => [safetyBackupId, id]));
    return {
      scheduleName: ({ scheduleId }) => (scheduleId ? names.get(scheduleId) : undefined),
      isDrilled: ({ id }) => drilled.has(id),
      undoTo: (backup) => {
        const restoreId = canUndo && isSafety(backup) ? restoreOf.get(backup.id) : undefined;
        return restoreId && paths.undo(restoreId);
      },
      kept: ({ id }) => kept.get(id),
    };
  }, [paths, canUndo, schedules, drills, restores, kept]);
}

/** What retention would do with the newest backups of each schedule in sight. */
function useKept(rows: readonly Backup[] | undefined): ReadonlyMap<string, KeptUntil> {
  const { organization } = useWorkplace();
  const named = new Set(rows?.flatMap(({ scheduleId, expiresAt }) => (scheduleId && !expiresAt ? [scheduleId] : [])));
  return useQueries({
    queries: [...named].slice(0, schedulesMax).map((scheduleId) => {
      const input = { params: { scheduleId }, query: { limit: lookedAt } };
      return {
        queryKey: keyOf(organization.id, 'previewRetention', input),
        queryFn: () => clientFor(organization.id).previewRetention(input),
      };
    }),
    combine: keptOf,
  });
}

type Preview = Awaited<ReturnType<ReturnType<typeof clientFor>['previewRetention']>>;

function keptOf(answers: readonly { data?: Preview | undefined }[]): ReadonlyMap<string, KeptUntil> {
  return new Map(
    answers.flatMap(({ data }) =>
      (data?.data ?? []).map(({ backupId, removedAt, keptBy }): [string, KeptUntil] => [
        backupId,
        { removedAt, isNeeded: keptBy.length > 0 && keptBy.every(({ rule }) => rule === 'dependency') },
      ]),
    ),
  );
}
