import { type Backup, dayMs, hourMs, minuteMs, type PitrWindow } from '@holdfast/contract';
import { useState } from 'react';
import { useRead } from '../../api/calls.ts';
import { useZone } from '../../api/organization.tsx';
import { ReachLegend } from '../../components/line/legend.tsx';
import { TimeLine } from '../../components/line/time-line.tsx';
import { Panel } from '../../components/panel.tsx';
import { TableToggle } from '../../components/table-toggle.tsx';
import { formatCount } from '../../format/numbers.ts';
import { formatClock, formatDateTime, formatDay, formatWeekday } from '../../format/times.ts';
import { t } from '../../texts/index.ts';
import { bandsOf, pointsOf } from './reach.ts';

interface LinesProps {
  projectId: string;
  pitr: PitrWindow;
  backups: readonly Backup[];
  nowMs: number;
  atMs: number;
  onChoose: (ms: number) => void;
}

const windows = { minute: minuteMs, quarter: 15 * minuteMs, hours: 2 * hourMs, day: dayMs } as const;
type WindowName = keyof typeof windows;

/** A few captured minutes would be a dot in a window of hours. */
function firstWindow({ coveredFrom, coveredTo }: PitrWindow): WindowName {
  const coveredMs = Date.parse(coveredTo ?? '') - Date.parse(coveredFrom ?? '');
  return coveredMs < windows.quarter ? 'quarter' : 'hours';
}

/** The whole covered time above, a window around the chosen moment below. */
export function Lines({ projectId, pitr, backups, nowMs, atMs, onChoose }: LinesProps) {
  const zone = useZone();
  const [name, setName] = useState<WindowName>(() => firstWindow(pitr));
  const lengthMs = windows[name];
  const toMs = Math.min(nowMs + lengthMs * 0.08, atMs + lengthMs * 0.6);
  const fromMs = toMs - lengthMs;
  const minutes = useMinutes(projectId, atMs, name !== 'day');
  const shared = { nowMs, bands: bandsOf(pitr), points: pointsOf(backups), chosenMs: atMs, onChoose };
  const days = pitr.retentionDays ?? 7;
  return (
    <>
      <Whole pitr={pitr} days={days} {...shared} frame={{ fromMs, toMs }} />
      <Panel
        title={t.time.windowTitle(
          `${formatWeekday(fromMs, zone)} ${formatDay(fromMs, zone)}`,
          formatClock(fromMs, zone),
          formatClock(toMs, zone),
        )}
        aside={
          <fieldset className="flex flex-wrap gap-1.5">
            <legend className="sr-only">{t.time.windowsLabel}</legend>
            {(Object.keys(windows) as WindowName[]).map((one) => (
              <button
                key={one}
                type="button"
                aria-pressed={one === name}
                onClick={() => setName(one)}
                className="rounded-control border border-control px-2.5 py-1 font-medium text-ink aria-pressed:bg-ink aria-pressed:text-on-ink max-sm:min-h-11 max-sm:px-3.5"
              >
                {t.time.windows[one]}
              </button>
            ))}
          </fieldset>
        }
      >
        <TimeLine
          label={t.time.sliderLabel}
          fromMs={fromMs}
          toMs={toMs}
          {...shared}
          bars={within(name === 'day' ? hoursOf(pitr) : minutes, fromMs, toMs)}
          scale={name === 'day' ? t.time.perHour : t.time.perMinute}
        />
      </Panel>
    </>
  );
}

interface Bar {
  readonly fromMs: number;
  readonly toMs: number;
  readonly value: number;
}

const hoursOf = ({ changesPerHour }: PitrWindow): Bar[] =>
  changesPerHour.map(({ hour, count }) => ({
    fromMs: Date.parse(hour),
    toMs: Date.parse(hour) + hourMs,
    value: count,
  }));

const within = (bars: readonly Bar[], fromMs: number, toMs: number) =>
  bars.filter((bar) => bar.toMs > fromMs && bar.fromMs < toMs);

const bucketMs = 6 * hourMs;

/** Requested by quarter days, so that moving along the line needs few calls. */
function useMinutes(projectId: string, atMs: number, isWanted: boolean): Bar[] {
  const around = new Date(Math.round(atMs / bucketMs) * bucketMs).toISOString();
  const pitr = useRead('getPitr', { params: { projectId }, query: { around } }, { enabled: isWanted, everyMs: 10_000 });
  return (pitr.data?.changesPerMinute ?? []).map(({ minute, count }) => ({
    fromMs: Date.parse(minute),
    toMs: Date.parse(minute) + minuteMs,
    value: count,
  }));
}

type WholeProps = Pick<LinesProps, 'pitr' | 'nowMs'> &
  Omit<React.ComponentProps<typeof TimeLine>, 'label' | 'fromMs' | 'toMs' | 'bars'> & { days: number };

function Whole({ pitr, days, nowMs, ...line }: WholeProps) {
  const zone = useZone();
  const [asTable, setAsTable] = useState(false);
  const bars = hoursOf(pitr);
  const peak = Math.max(0, ...bars.map(({ value }) => value));
  return (
    <Panel
      title={t.time.hoursTitle(days)}
      aside={
        <span className="flex flex-wrap items-center gap-x-5 gap-y-1">
          {!asTable && <ReachLegend />}
          <TableToggle asTable={asTable} onChange={setAsTable} />
        </span>
      }
    >
      <p className="mb-2 text-ink2 text-table">{t.time.hoursHint}</p>
      {asTable ? (
        <section tabIndex={0} aria-label={t.time.hoursLabel(formatCount(peak))} className="max-h-64 overflow-y-auto">
          <table className="w-full text-table">
            <thead className="text-left text-ink2 text-meta">
              <tr>
                <th scope="col">{t.time.hour}</th>
                <th scope="col" className="text-right">
                  {t.time.changes}
                </th>
              </tr>
            </thead>
            <tbody>
              {[...bars].reverse().map(({ fromMs, value }) => (
                <tr key={fromMs}>
                  <th scope="row" className="text-left font-normal">
                    {formatDateTime(fromMs, zone)}
                  </th>
                  <td className="text-right">{formatCount(value)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      ) : (
        <TimeLine
          {...line}
          label={t.time.hoursLabel(formatCount(peak))}
          nowMs={nowMs}
          fromMs={nowMs - days * dayMs}
          toMs={nowMs + days * dayMs * 0.02}
          bars={bars}
          stepMs={hourMs}
        />
      )}
    </Panel>
  );
}
