import { ShieldCheck } from 'lucide-react';
import { Panel } from '../../components/panel.tsx';
import { t } from '../../texts/index.ts';
import type { Draft } from './draft.ts';
import { NextRuns } from './next-runs.tsx';
import { Sentence } from './sentence.tsx';

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
      <YearAhead keep={draft.keep} />
    </>
  );
}

const rules = ['yearly', 'monthly', 'weekly', 'daily'] as const;
const marksMax = 31;

/** Retention drawn: how many marks each rule leaves on the line. */
function YearAhead({ keep }: { keep: Draft['keep'] }) {
  const total = rules.reduce((sum, rule) => sum + keep[rule], 0);
  if (total === 0) return null;
  const parts = rules.filter((rule) => keep[rule] > 0);
  return (
    <Panel title={t.schedules.yearTitle} aside={t.schedules.yearText(total)}>
      <div
        role="img"
        aria-label={t.schedules.yearLabel(keep.daily, keep.weekly, keep.monthly, keep.yearly)}
        className="flex gap-3 overflow-hidden pt-2 pb-1"
      >
        {parts.map((rule) => (
          <div key={rule} className="min-w-16" style={{ flexGrow: Math.min(marksMax, keep[rule]) }}>
            <p className="border-control border-x border-t pt-1 text-center text-meta font-medium">
              {keep[rule]} {t.schedules.rules[rule]}
            </p>
            <div className="mt-3 flex items-center justify-around border-line border-b pb-1">
              {Array.from({ length: Math.min(marksMax, keep[rule]) }, (_, index) => (
                <span
                  key={index}
                  className={`inline-block h-4 rounded-[2px] bg-held ${rule === 'daily' ? 'w-0.5' : 'w-1.5'}`}
                />
              ))}
            </div>
          </div>
        ))}
      </div>
      <p className="mt-4 flex gap-2 text-table text-ink2">
        <ShieldCheck size={16} aria-hidden className="mt-0.5 shrink-0 text-held" />
        <span>
          <b className="font-medium text-ink">{t.schedules.neverRemoved}:</b> {t.schedules.neverRemovedText}
        </span>
      </p>
    </Panel>
  );
}
