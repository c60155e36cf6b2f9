import { State } from '../../components/status.tsx';
import { t } from '../../texts/index.ts';

export function RunState({ status }: { status: string }) {
  const tone =
    status === 'completed' ? 'held' : status === 'triggered' ? 'move' : status === 'failed' ? 'fail' : 'risk';
  return <State tone={tone}>{t.schedules.runStatus[status] ?? status}</State>;
}
