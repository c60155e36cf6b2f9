import { type Restore, type RestorePhase, restorePhases } from '@holdfast/contract';
import { Undo2 } from 'lucide-react';
import { Panel } from '../../components/panel.tsx';
import { Step, type StepState } from '../../components/steps.tsx';
import { Time } from '../../components/time.tsx';
import { formatCount, formatDuration } from '../../format/numbers.ts';
import { t } from '../../texts/index.ts';
import { shownBy } from './phase-words.ts';
import type { PhaseTime } from './use-restore-progress.ts';

interface PhasesProps {
  restore: Restore;
  times: Partial<Record<RestorePhase, PhaseTime>>;
}

/** The running phase has a background from edge to edge. */
const band =
  "isolate before:absolute before:-inset-x-4 before:-top-3 before:bottom-3 before:-z-10 before:bg-move-weak before:content-['']";

/** The eight phases by their names; the safety backup is a line inside Validating. */
export function Phases({ restore, times }: PhasesProps) {
  const at = restore.status === 'completed' ? restorePhases.length : restorePhases.indexOf(restore.phase);
  return (
    <Panel title={t.restore.phases} aside={t.restore.phaseOf(Math.min(at + 1, restorePhases.length))}>
      <ol>
        {restorePhases.map((phase, index) => (
          <Step
            key={phase}
            state={stateOf(restore, index, at)}
            isLast={index === restorePhases.length - 1}
            className={`pb-6 last:pb-1 ${index === at && restore.status === 'running' ? band : ''}`}
          >
            <div
              className={`grid grid-cols-[110px_1fr_auto] items-baseline gap-x-4 text-table max-sm:grid-cols-[1fr_auto] ${index === at ? '' : 'text-ink2'}`}
            >
              <span
                className={`font-medium ${index === at && restore.status === 'running' ? 'text-move' : index < at ? 'text-ink' : ''}`}
              >
                {t.restore.phaseNames[phase]}
              </span>
              <span className="max-sm:order-3 max-sm:col-span-2">
                {phase === 'Restoring' && index <= at && !restore.dryRun ? (
                  <>
                    <span className="text-ink" data-done="">
                      <Written restore={restore} />
                    </span>
                    {index === at && restore.status === 'running' && (
                      <span className="block text-ink2">{t.restore.phaseHints.Restoring}</span>
                    )}
                  </>
                ) : index < at ? (
                  shownBy(phase, restore)
                ) : (
                  t.restore.phaseHints[phase]
                )}
                {phase === 'Validating' && restore.safetyBackupId && (
                  <span className="mt-1 flex items-center gap-1.5 text-ink">
                    <Undo2 size={14} aria-hidden className="text-held" /> {t.restore.safetyLine}
                  </span>
                )}
              </span>
              <PhaseClock time={times[phase]} />
            </div>
          </Step>
        ))}
      </ol>
    </Panel>
  );
}

/** Done and total, until all is done. */
function Written({ restore }: { restore: Restore }) {
  const { documents, documentsTotal } = restore.progress;
  if (restore.status === 'completed' || documentsTotal === null || documentsTotal < documents)
    return t.restore.written(restore.documentsRestored, restore.documentsDeleted);
  return (
    <>
      <b className="font-semibold">{formatCount(documents)}</b> {t.restore.ofTotal(documentsTotal)}
    </>
  );
}

function PhaseClock({ time }: { time: PhaseTime | undefined }) {
  if (!time) return <span />;
  return (
    <span className="flex gap-4 text-ink2">
      {time.endedMs !== undefined && formatDuration(time.endedMs - time.startedMs)}
      <span className="text-ink3">
        <Time at={time.startedMs} as="clock" />
      </span>
    </span>
  );
}

function stateOf(restore: Restore, index: number, at: number): StepState {
  if (index < at) return 'done';
  if (index > at) return 'todo';
  return restore.status === 'failed' ? 'failed' : restore.status === 'running' ? 'running' : 'current';
}
