import { Panel } from '../../components/panel.tsx';
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
  isNew: boolean;
}

export function Editor({ draft, set, faults, isNew }: EditorProps) {
  return (
    <>
      <div className="grid items-start gap-5 xl:grid-cols-[1fr_380px]">
        <Panel>
          <div className="py-1">
            <Sentence draft={draft} set={set} faults={faults} isNew={isNew} />
          </div>
        </Panel>
        <NextRuns draft={draft} />
      </div>
      <YearPanel draft={draft} />
      <div className="grid gap-5 lg:grid-cols-2 empty:hidden">
        <Cost draft={draft} />
        <Growth draft={draft} />
      </div>
    </>
  );
}
