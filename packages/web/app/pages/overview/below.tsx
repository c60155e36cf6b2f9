import { dayMs, type Overview } from '@holdfast/contract';
import { useState } from 'react';
import { useAll } from '../../api/calls.ts';
import { useZone } from '../../api/organization.tsx';
import { Panel } from '../../components/panel.tsx';
import { State } from '../../components/status.tsx';
import { useNow } from '../../components/time.tsx';
import { formatBytes, formatCount, formatMoney } from '../../format/numbers.ts';
import { dollarsPerRead } from '../../format/prices.ts';
import { formatDay, formatHour, formatIn, formatNearDay } from '../../format/times.ts';
import { t } from '../../texts/index.ts';
import type { ProjectRow } from './facts.ts';

const shownDays = 30;
const partsShown = 3;

/** Thirty days up to today; those before the first measured one hold nothing. */
function lastDays(days: Overview['days']): Overview['days'] {
  const last = Date.parse(days.at(-1)?.day ?? '');
  if (Number.isNaN(last)) return [];
  const known = new Map(days.map((one) => [one.day, one]));
  return Array.from({ length: shownDays }, (_, index) => {
    const day = new Date(last - (shownDays - 1 - index) * dayMs).toISOString().slice(0, 10);
    return known.get(day) ?? { day, storedBytes: 0, readsUsed: 0 };
  });
}

export function Below({ overview, rows }: { overview: Overview; rows: readonly ProjectRow[] }) {
  const days = lastDays(overview.days);
  const stored = days.map(({ storedBytes }) => storedBytes);
  const reads = sum(days.map(({ readsUsed }) => readsUsed));
  const places = useAll('listStorageDestinations', {}).rows ?? [];
  const nameOf = (id: string) => rows.find(({ project }) => project.id === id)?.project.name;
  return (
    <div className="grid gap-5 lg:grid-cols-3">
      <NextRuns overview={overview} rows={rows} />
      <DayChart
        title={t.overview.stored}
        label={t.overview.storedLabel}
        days={days.map(({ day, storedBytes }) => ({ day, value: storedBytes }))}
        headline={formatBytes(stored.at(-1) ?? 0)}
        detail={growthOf((stored.at(-1) ?? 0) - (stored[0] ?? 0))}
        parts={places
          .filter(({ usage }) => usage.bytes > 0)
          .sort((a, b) => b.usage.bytes - a.usage.bytes)
          .map(({ id, name, usage }) => [id, name, formatBytes(usage.bytes)])}
        format={formatBytes}
        kind="area"
      />
      <DayChart
        title={t.overview.reads}
        label={t.overview.readsLabel}
        days={days.map(({ day, readsUsed }) => ({ day, value: readsUsed }))}
        headline={formatCount(reads)}
        detail={t.overview.costs(formatMoney(reads * dollarsPerRead))}
        parts={overview.readsByProject.map(({ projectId, readsUsed }) => [
          projectId,
          nameOf(projectId) ?? t.overview.formerProject,
          `${Math.round((readsUsed / Math.max(1, sum(overview.readsByProject.map((one) => one.readsUsed)))) * 100)} %`,
        ])}
        format={formatCount}
        kind="bars"
      />
    </div>
  );
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const growthOf = (bytes: number) =>
  bytes < 0 ? t.overview.shrunk(formatBytes(-bytes)) : t.overview.growth(formatBytes(bytes));

function NextRuns({ overview, rows }: { overview: Overview; rows: readonly ProjectRow[] }) {
  const zone = useZone();
  const now = useNow();
  return (
    <Panel title={t.overview.nextRuns} aside={zone} flush className="max-md:mt-4 max-md:rounded-none max-md:border-x-0">
      {overview.nextRuns.length === 0 && <p className="px-4 py-4 text-table text-ink2">{t.overview.noRuns}</p>}
      <ul className="py-1">
        {overview.nextRuns.slice(0, 6).map((run) => {
          const row = rows.find(({ project }) => project.id === run.projectId);
          const isBlocked = row?.project.connection.status === 'unauthorized';
          const day = formatNearDay(run.at, zone, now);
          return (
            <li
              key={`${run.scheduleId} ${run.at}`}
              className="grid grid-cols-[44px_104px_minmax(0,1fr)_minmax(0,1fr)] items-center gap-2 px-4 py-1.5 text-table"
            >
              <b className="font-semibold">{formatHour(run.at, zone)}</b>
              <span className="text-ink2">{day === 'Today' ? formatIn(run.at, zone, now) : day.toLowerCase()}</span>
              <span className="truncate" title={row?.project.name} dir="auto">
                {row?.project.name}
              </span>
              <span className="truncate text-ink2" title={run.name} dir="auto">
                {isBlocked ? <State tone="fail">{t.overview.blocked}</State> : run.name}
              </span>
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}

interface DayChartProps {
  title: string;
  label: string;
  days: readonly { day: string; value: number }[];
  headline: string;
  detail: string;
  /** What it is made of today, the greatest first: id, name and share. */
  parts: readonly (readonly [string, string, string])[];
  format: (value: number) => string;
  kind: 'area' | 'bars';
}

const [width, height] = [240, 120];

function DayChart({ title, label, days, headline, detail, parts, format, kind }: DayChartProps) {
  const [asTable, setAsTable] = useState(false);
  const peak = Math.max(0, ...days.map(({ value }) => value));
  const step = width / Math.max(1, days.length);
  const y = (value: number) => height - (value / Math.max(1, peak)) * (height - 6);
  const top = days.map(({ value }, index) => `L${(index + 0.5) * step} ${y(value)}`).join('');
  return (
    <Panel title={title} aside={t.overview.days} className="max-md:rounded-none max-md:border-x-0">
      <div className="flex flex-wrap gap-x-5 gap-y-2">
        <div className="min-w-28">
          <p className="text-page font-semibold">{headline}</p>
          <p className="text-meta text-ink2">{detail}</p>
          <ul className="mt-1.5 max-w-44 text-meta">
            {parts.slice(0, partsShown).map(([id, name, share]) => (
              <li key={id} className="flex justify-between gap-2">
                <span className="truncate" title={name} dir="auto">
                  {name}
                </span>
                <span className="shrink-0 text-ink2">{share}</span>
              </li>
            ))}
          </ul>
          <button
            type="button"
            onClick={() => setAsTable(!asTable)}
            className="mt-2 text-meta font-medium text-held hover:underline"
            aria-label={`${asTable ? t.common.showAsPicture : t.common.showAsTable}: ${title}`}
          >
            {asTable ? t.common.showAsPicture : t.common.showAsTable}
          </button>
        </div>
        {asTable ? (
          <section tabIndex={0} className="max-h-36 min-w-40 flex-1 overflow-y-auto" aria-label={label}>
            <table className="w-full text-meta">
              <tbody>
                {[...days].reverse().map(({ day, value }) => (
                  <tr key={day}>
                    <th scope="row" className="text-left font-normal text-ink2">
                      {day}
                    </th>
                    <td className="text-right">{format(value)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </section>
        ) : (
          <div className="min-w-40 flex-1">
            <svg
              role="img"
              aria-label={`${label}: ${headline}`}
              viewBox={`0 0 ${width} ${height}`}
              preserveAspectRatio="none"
              className="h-32 w-full"
            >
              <path
                d={`M0 ${height / 2}H${width}M0 ${height - 0.5}H${width}`}
                className="stroke-line"
                strokeWidth="1"
              />
              {kind === 'area' ? (
                <>
                  <path d={`M${step / 2} ${height}${top}L${width - step / 2} ${height}Z`} className="fill-band" />
                  <path
                    d={`M${top.slice(1)}`}
                    fill="none"
                    className="stroke-held"
                    strokeWidth="1.6"
                    vectorEffect="non-scaling-stroke"
                  />
                </>
              ) : (
                days.map(({ day, value }, index) => (
                  <rect
                    key={day}
                    x={index * step + step * 0.15}
                    width={step * 0.7}
                    y={y(value)}
                    height={height - y(value)}
                    className="fill-control"
                  />
                ))
              )}
            </svg>
            <p className="flex justify-between text-meta text-ink3">
              <span>{days[0] && formatDay(Date.parse(days[0].day), 'UTC')}</span>
              <span>{t.overview.peak(format(peak))}</span>
              <span>{t.overview.today}</span>
            </p>
          </div>
        )}
      </div>
    </Panel>
  );
}
