import type { Backup } from '@holdfast/contract';
import { LoaderCircle } from 'lucide-react';
import { useAct } from '../../api/calls.ts';
import { useCan, useZone } from '../../api/organization.tsx';
import { Button } from '../../components/button.tsx';
import { ProgressBar } from '../../components/progress.tsx';
import { FormProblem } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { formatBytes, formatCount, formatDuration } from '../../format/numbers.ts';
import { formatClock } from '../../format/times.ts';
import { t } from '../../texts/index.ts';
import { typeName } from './shared.tsx';
import { useBackupProgress } from './use-backup-progress.ts';
import { usePace } from './use-pace.ts';

interface RunningBackupProps {
  backup: Backup;
  projectName: string;
  /** Only one of many is streamed, because a browser has few connections. The others update with the list. */
  isFollowed?: boolean;
}

/** A running backup with live progress. */
export function RunningBackup({ backup, projectName, isFollowed = true }: RunningBackupProps) {
  const zone = useZone();
  const live = useBackupProgress(isFollowed ? backup : undefined);
  const cancel = useAct('cancelBackup');
  const canCancel = useCan('member');
  const { percent, documents, documentsTotal, bytes, etaSeconds, waitingFor } = backup.progress;
  const isWaiting = backup.status === 'pending';
  const pace = usePace(documents);
  const isMoving = pace !== undefined && waitingFor === null && !isWaiting;
  return (
    <section
      aria-label={t.backups.of(projectName)}
      className="flex flex-wrap items-center gap-x-5 gap-y-3 rounded-panel bg-move-weak px-5 py-3.5"
    >
      <div className="min-w-0 flex-1 sm:min-w-64">
        <div className="mb-2 flex flex-wrap items-center gap-x-3 gap-y-1 text-table">
          <span className="inline-flex items-center gap-2 font-medium text-move">
            <LoaderCircle size={16} aria-hidden className="turning" />
            {isWaiting ? t.backups.waiting : t.backups.running(percent)}
          </span>
          <span className="font-medium">{typeName(backup)}</span>
          <span className="min-w-0 wrap-anywhere text-ink2">
            {projectName} · {t.backups.triggers[backup.trigger]}, <Time at={backup.createdAt} as="clock" />
          </span>
          <span className="ml-auto text-ink2">
            {live.awaySince === null
              ? t.backups.progressLine(documents, documentsTotal, formatBytes(bytes))
              : t.common.reconnecting(formatClock(live.awaySince, zone))}
            {isMoving && live.awaySince === null && ` · ${t.restore.perSecond(formatCount(Math.round(pace)))}`}
            {etaSeconds !== null && !isWaiting && (
              <span className="font-semibold text-ink">
                {' '}
                · {etaSeconds < 2 ? t.jobs.almostDone : t.jobs.secondsLeft(formatDuration(etaSeconds * 1000))}
              </span>
            )}
          </span>
        </div>
        <ProgressBar percent={percent} label={t.backups.backupOf(projectName)} />
        {waitingFor !== null && !isWaiting && <p className="mt-2 text-table text-ink2">{waitingFor}</p>}
        <FormProblem error={cancel.error} />
      </div>
      {canCancel && (
        <Button busy={cancel.isPending} onClick={() => cancel.mutate({ params: { backupId: backup.id } })}>
          {t.backups.cancel}
        </Button>
      )}
    </section>
  );
}
