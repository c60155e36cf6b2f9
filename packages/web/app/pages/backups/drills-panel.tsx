import type { Backup, ItemOf, Operations } from '@holdfast/contract';
import { Download, FlaskConical } from 'lucide-react';
import { useAct, useAll } from '../../api/calls.ts';
import { useCan } from '../../api/organization.tsx';
import { Button } from '../../components/button.tsx';
import { Panel } from '../../components/panel.tsx';
import { FormProblem, JobFault, Problem } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { formatCount, formatDuration } from '../../format/numbers.ts';
import { saveFile } from '../../format/save-file.ts';
import { t } from '../../texts/index.ts';
import { DrillState } from './drill-state.tsx';

type Drill = ItemOf<Operations['listDrills']>;

export function DrillsPanel({ backup }: { backup: Backup }) {
  const drills = useAll('listDrills', { params: { backupId: backup.id } });
  const start = useAct('startDrill');
  const canRun = useCan('member');
  const isRunning = drills.rows?.some(({ status }) => status === 'running' || status === 'pending') ?? false;
  return (
    <Panel
      title={t.backups.drills}
      flush
      aside={
        canRun && (
          <Button
            icon={FlaskConical}
            busy={start.isPending || isRunning}
            onClick={() => start.mutate({ params: { backupId: backup.id } })}
          >
            {t.backups.drill}
          </Button>
        )
      }
    >
      <FormProblem error={start.error} />
      {drills.error && <Problem error={drills.error} onRetry={() => void drills.refetch()} />}
      {drills.rows?.length === 0 && <p className="px-4 py-3 text-table text-ink2">{t.backups.noDrills}</p>}
      <ul>
        {drills.rows?.map((drill) => (
          <DrillRow key={drill.id} drill={drill} />
        ))}
      </ul>
    </Panel>
  );
}

function DrillRow({ drill }: { drill: Drill }) {
  const { report, signedReport } = drill;
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-1 border-line border-b px-4 py-2.5 text-table last:border-b-0">
      <DrillState drill={drill} />
      {report && (
        <span className="text-ink2">
          {t.backups.drillLine(
            formatCount(report.documentsMatched),
            formatCount(report.documentsExpected),
            formatDuration(report.restoreDurationMs),
          )}
        </span>
      )}
      <span className="ml-auto flex items-center gap-3 text-ink3">
        <Time at={drill.completedAt ?? drill.createdAt} as="age" />
        {signedReport && (
          <Button icon={Download} onClick={() => saveFile(`${drill.id}.jws`, signedReport, 'application/jose')}>
            {t.backups.drillReport}
          </Button>
        )}
      </span>
      <JobFault error={drill.error} />
    </li>
  );
}
