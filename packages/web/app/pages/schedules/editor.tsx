import type { Schedule } from '@holdfast/contract';
import { useAll } from '../../api/calls.ts';
import { Panel } from '../../components/panel.tsx';
import { beyondWords } from './beyond-words.ts';
import { Cost } from './cost.tsx';
import type { Draft } from './draft.ts';
import { Growth } from './growth.tsx';
import { NextRuns } from './next-runs.tsx';
import { Sentence } from './sentence.tsx';
import { YearPanel } from './year-panel.tsx';

interface EditorProps {
  draft: Draft;
  set: (change: Partial<Draft>) => void;
  faults: Readonly<Record<string, string>>;
  /** The schedule being edited; absent for a new one. */
  schedule?: Schedule;
}

export function Editor({ draft, set, faults, schedule }: EditorProps) {
  const destinations = useAll('listStorageDestinations', {}).rows ?? [];
  const beyond = schedule && beyondWords(schedule, (id) => destinations.find((one) => one.id === id)?.name ?? id);
  return (
    <>
      <div className="grid items-start gap-5 xl:grid-cols-[1fr_380px]">
        <Panel>
          <div className="py-1">
            <Sentence draft={draft} set={set} faults={faults} isNew={schedule === undefined} />
            {beyond && <p className="mt-4 text-table text-ink2">{beyond}</p>}
          </div>
        </Panel>
        <NextRuns draft={draft} hasRun={schedule !== undefined && schedule.lastRun !== null} />
      </div>
      <YearPanel draft={draft} />
      <div className="grid gap-5 lg:grid-cols-2 empty:hidden">
        <Cost draft={draft} />
        <Growth draft={draft} />
      </div>
    </>
  );
}
