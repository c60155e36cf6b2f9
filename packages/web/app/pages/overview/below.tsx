import type { Overview } from '@holdfast/contract';
import { useAll } from '../../api/calls.ts';
import { useZone } from '../../api/organization.tsx';
import { middle, Point } from '../../components/line/marks.tsx';
import { Panel } from '../../components/panel.tsx';
import { State } from '../../components/status.tsx';
import { useNow } from '../../components/time.tsx';
import { formatAboutMoney, formatBytes, formatCount } from '../../format/numbers.ts';
import { dollarsPerRead } from '../../format/prices.ts';
import { formatHour, formatIn, formatNearDay } from '../../format/times.ts';
import { t } from '../../texts/index.ts';
import { useObstacles } from '../schedules/schedule-state.tsx';
import { DayChart } from './day-chart.tsx';
import { lastDays, storedLayers } from './days.ts';
import type { ProjectRow } from './facts.ts';

export function Below({ overview, rows }: { overview: Overview; rows: readonly ProjectRow[] }) {
  const days = lastDays(overview.days);
  const stored = days.map(({ storedBytes }) => storedBytes);
  const layers = storedLayers(days, useAll('listStorageDestinations', {}).rows ?? []);
  const reads = sum(days.map(({ readsUsed }) => readsUsed));
  const nameOf = (id: string) => rows.find(({ project }) => project.id === id)?.project.name;
  return (
    <div className="grid gap-5 md:grid-cols-2 xl:grid-cols-[1.12fr_1fr_1fr]">
      <NextRuns overview={overview} rows={rows} />
      <DayChart
        title={t.overview.stored}
        label={t.overview.storedLabel}
        days={days.map(({ day, storedBytes }) => ({ day, value: storedBytes }))}
        headline={formatBytes(stored.at(-1) ?? 0)}
        detail={growthOf((stored.at(-1) ?? 0) - (stored[0] ?? 0))}
        parts={layers.map(({ id, name, values }) => [id, name, formatBytes(values.at(-1) ?? 0)])}
        layers={layers}
        format={formatBytes}
      />
      <DayChart
        title={t.overview.reads}
        label={t.overview.readsLabel}
        days={days.map(({ day, readsUsed }) => ({ day, value: readsUsed }))}
        headline={formatCount(reads)}
        detail={t.overview.costs(formatAboutMoney(reads * dollarsPerRead))}
        parts={overview.readsByProject.map(({ projectId, readsUsed }) => [
          projectId,
          nameOf(projectId) ?? t.overview.formerProject,
          `${Math.round((readsUsed / Math.max(1, sum(overview.readsByProject.map((one) => one.readsUsed)))) * 100)} %`,
        ])}
        format={formatCount}
      />
    </div>
  );
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const growthOf = (bytes: number) =>
  bytes < 0 ? t.overview.shrunk(formatBytes(-bytes)) : t.overview.growth(formatBytes(bytes));

function NextRuns({ overview, rows }: { overview: Overview; rows: readonly ProjectRow[] }) {
  const zone = useZone();
  const schedules = useAll('listSchedules', { query: { enabled: true } });
  const obstacleOf = useObstacles();
  const now = useNow();
  return (
    <Panel
      title={t.overview.nextRuns}
      aside={zone}
      flush
      className="max-md:mt-4 max-md:rounded-none max-md:border-x-0 md:max-xl:col-span-2"
    >
      {overview.nextRuns.length === 0 && <p className="px-4 py-4 text-table text-ink2">{t.overview.noRuns}</p>}
      <ul className="py-1">
        {overview.nextRuns.slice(0, 6).map((run) => {
          const row = rows.find(({ project }) => project.id === run.projectId);
          const schedule = schedules.rows?.find(({ id }) => id === run.scheduleId);
          const obstacle = schedule && obstacleOf(schedule);
          const why = obstacle && obstacle !== 'unread' && obstacle.tone === 'fail' ? obstacle.why : undefined;
          const day = formatNearDay(run.at, zone, now);
          return (
            <li
              key={`${run.scheduleId} ${run.at}`}
              className="grid grid-cols-[44px_96px_12px_minmax(0,1fr)_minmax(100px,1fr)] items-center gap-2 px-4 py-1.5 text-table max-sm:grid-cols-[40px_72px_12px_minmax(0,1fr)_minmax(0,auto)]"
            >
              <b className="font-semibold">{formatHour(run.at, zone)}</b>
              <span className="text-ink2">{day === 'Today' ? formatIn(run.at, zone, now) : day.toLowerCase()}</span>
              <RunType type={run.type} />
              <span className="truncate" title={row?.project.name} dir="auto">
                {row?.project.name}
              </span>
              <span className="truncate text-ink2" title={why ?? run.name} dir="auto">
                {why ? <State tone="fail">{t.overview.cannotRun}</State> : run.name}
              </span>
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}

const marks = { full: 'full', incremental: 'increment', synthetic: 'synthetic' } as const;

/** The same mark as on the line above. */
function RunType({ type }: { type: keyof typeof marks }) {
  const word = t.backups.types[type];
  return (
    <span title={word}>
      <svg width="12" height="16" viewBox={`0 ${middle - 8} 12 16`} aria-hidden="true">
        <Point point={{ id: type, atMs: 0, kind: marks[type] }} x={6} />
      </svg>
      <span className="sr-only">{word}</span>
    </span>
  );
}
