import { useRead } from '../../api/calls.ts';
import { Panel } from '../../components/panel.tsx';
import { FormProblem } from '../../components/states.tsx';
import { useNow } from '../../components/time.tsx';
import { formatHour, formatIn, formatNearDay } from '../../format/times.ts';
import { t } from '../../texts/index.ts';
import type { Draft } from './draft.ts';

const shown = 7;

/** When it would run, in its own zone and in UTC, as the service reckons it. */
export function NextRuns({ draft }: { draft: Draft }) {
  const cron = draft.cron.trim().replace(/\s+/g, ' ');
  const isWhole = cron.split(' ').length === 5;
  const preview = useRead(
    'previewSchedule',
    { body: { cron, timezone: draft.timezone, count: shown } },
    { enabled: isWhole, everyMs: false },
  );
  const now = useNow();
  const isUtc = draft.timezone === 'UTC';
  return (
    <Panel title={t.schedules.nextRuns} aside={isUtc ? 'UTC' : t.schedules.zones(draft.timezone)} flush>
      {!isWhole && <p className="px-4 py-3 text-table text-ink2">{t.schedules.badCron}</p>}
      <FormProblem error={isWhole ? preview.error : null} />
      {preview.data && isWhole && (
        <ul>
          {preview.data.runs.map((run, index) => {
            const isFull = draft.fullEvery === 1 || index % draft.fullEvery === 0;
            return (
              <li
                key={run}
                className="grid grid-cols-[1fr_auto_auto_1fr] items-center gap-3 border-line border-b px-4 py-1.5 text-table last:border-b-0"
              >
                <span>{formatNearDay(run, draft.timezone, now)}</span>
                <b className="font-semibold">{formatHour(run, draft.timezone)}</b>
                <span className="text-ink3">{!isUtc && formatHour(run, 'UTC')}</span>
                <span className={isFull ? 'font-medium' : 'text-ink2'}>
                  {isFull ? t.schedules.full : t.schedules.increment}
                  {index === 0 && (
                    <span className="float-right text-meta font-normal text-ink3">
                      {formatIn(run, draft.timezone, now)}
                    </span>
                  )}
                </span>
              </li>
            );
          })}
        </ul>
      )}
    </Panel>
  );
}
