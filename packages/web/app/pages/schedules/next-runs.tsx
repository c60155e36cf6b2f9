import { Info } from 'lucide-react';
import { Panel } from '../../components/panel.tsx';
import { FormProblem } from '../../components/states.tsx';
import { useNow } from '../../components/time.tsx';
import { formatHour, formatIn, formatNearDay } from '../../format/times.ts';
import { t } from '../../texts/index.ts';
import { clockChangeOf } from './clock-change.ts';
import type { Draft } from './draft.ts';
import { useNextRuns } from './use-next-runs.ts';

/** The next runs, in the schedule's zone and in UTC, as computed by the service. */
export function NextRuns({ draft, hasRun }: { draft: Draft; hasRun: boolean }) {
  const { preview, isWhole, fault } = useNextRuns(draft);
  const now = useNow();
  const change = clockChangeOf(draft, now);
  const isUtc = draft.timezone === 'UTC';
  return (
    <Panel title={t.schedules.nextRuns} aside={isUtc ? 'UTC' : t.schedules.zones(draft.timezone)} flush>
      {fault && <p className="px-4 py-3 text-table text-ink2">{t.schedules.noNextRuns}</p>}
      <FormProblem error={isWhole && !fault ? preview.error : null} />
      {preview.data && !fault && (
        <ul>
          {preview.data.runs.map((run, index) => {
            // For a schedule that has run, the service does not tell which run is the next full one.
            const isKnown = draft.fullEvery === 1 || !hasRun;
            const isFull = isKnown && index % draft.fullEvery === 0;
            return (
              <li
                key={run}
                className="grid grid-cols-[auto_1fr_auto_auto_1fr] items-center gap-3 border-line border-b px-4 py-1.5 text-table last:border-b-0"
              >
                <svg aria-hidden="true" width="8" height="16" className="shrink-0">
                  <rect
                    x={isFull ? 0.5 : 3}
                    y="1"
                    width={isFull ? 7 : 2}
                    height="14"
                    rx={isFull ? 2 : 0}
                    className="fill-held"
                  />
                </svg>
                <span>{formatNearDay(run, draft.timezone, now)}</span>
                <b className="font-semibold">{formatHour(run, draft.timezone)}</b>
                <span className="text-ink3">{!isUtc && formatHour(run, 'UTC')}</span>
                <span className="flex items-baseline justify-between gap-2">
                  <span className={isFull ? 'font-medium' : 'text-ink2'}>
                    {isKnown && (isFull ? t.schedules.full : t.schedules.increment)}
                  </span>
                  {index === 0 && <span className="text-meta text-ink3">{formatIn(run, draft.timezone, now)}</span>}
                </span>
              </li>
            );
          })}
        </ul>
      )}
      {change && (
        <p className="flex gap-2 border-line border-t bg-bg px-4 py-3 text-table text-ink2">
          <Info size={15} aria-hidden className="mt-0.5 shrink-0 text-held" /> {change}
        </p>
      )}
    </Panel>
  );
}
