import type { ItemOf, Operations } from '@holdfast/contract';
import { JobState, State } from '../../components/status.tsx';
import { t } from '../../texts/index.ts';

type Drill = ItemOf<Operations['listDrills']>;

export function DrillState({ drill }: { drill: Drill }) {
  if (drill.status !== 'completed')
    return <JobState status={drill.status} {...(drill.status === 'running' ? { word: t.backups.drillRunning } : {})} />;
  return (
    <State tone={drill.passed ? 'held' : 'fail'}>{drill.passed ? t.backups.drillPassed : t.backups.drillFailed}</State>
  );
}
