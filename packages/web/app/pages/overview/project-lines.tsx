import { dayMs, type Overview } from '@holdfast/contract';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { asOf } from '../../api/newest-backup.ts';
import { useZone } from '../../api/organization.tsx';
import { LineAxis } from '../../components/line/axis.tsx';
import { LineLegend } from '../../components/line/legend.tsx';
import { Line } from '../../components/line/line.tsx';
import { Badge, VerdictState } from '../../components/status.tsx';
import { TableToggle } from '../../components/table-toggle.tsx';
import { Time } from '../../components/time.tsx';
import { useIsPhone } from '../../components/use-is-phone.ts';
import { formatCount, formatDuration } from '../../format/numbers.ts';
import { formatDay, formatHour } from '../../format/times.ts';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';
import { standsStillAt } from '../time/reach.ts';
import { bandsOf, goodPoints, lineDays, type ProjectRow, pointsOf } from './facts.ts';
import { LineTable } from './line-table.tsx';

interface ProjectLinesProps {
  rows: readonly ProjectRow[];
  overview: Overview | undefined;
  nowMs: number;
}

const phoneDays = 7;
/** The worst come first; of hundreds of projects only these are shown at first. */
const rowsAtFirst = 25;

/** One line of time per project: what can be restored, what failed, what is due. */
export function ProjectLines({ rows: all, overview, nowMs }: ProjectLinesProps) {
  const [asTable, setAsTable] = useState(false);
  const [isWhole, setWhole] = useState(false);
  const rows = isWhole ? all : all.slice(0, rowsAtFirst);
  const rest = rows.length < all.length && (
    <button
      type="button"
      onClick={() => setWhole(true)}
      className="block w-full border-line border-t px-4 py-2.5 text-table font-medium text-held hover:underline"
    >
      {t.overview.showAll(formatCount(all.length))}
    </button>
  );
  const isPhone = useIsPhone();
  if (isPhone)
    return (
      <>
        <PhoneLines rows={rows} overview={overview} nowMs={nowMs} />
        {rest}
      </>
    );
  const { table } = t.overview;
  return (
    <div className="overflow-hidden rounded-panel border border-line">
      {asTable ? (
        <LineTable
          rows={rows}
          overview={overview}
          newestOf={(row) => <Newest row={row} />}
          reachOf={(row) => <Reach row={row} nowMs={nowMs} />}
          provenOf={(row) => <Proven row={row} />}
        />
      ) : (
        <table className="w-full table-fixed border-collapse text-table" aria-label={t.overview.table.project}>
          <thead>
            <tr className="border-line border-b text-left text-meta text-ink2">
              <th scope="col" className="w-[19%] py-2 pr-3 pl-4 max-md:w-[24%] font-medium">
                {table.project}
              </th>
              <th scope="col" className="w-[14%] py-2 font-medium">
                {table.newest}
              </th>
              <th scope="col" className="py-2 font-medium">
                <LineAxis days={lineDays} nowMs={nowMs} />
                <span className="sr-only">{table.back}</span>
              </th>
              <th scope="col" className="w-[17%] py-2 pr-3 pl-5 font-medium">
                {table.back}
              </th>
              <th scope="col" className="w-[9%] py-2 pr-4 font-medium">
                {table.proven}
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <Row key={row.project.id} row={row} overview={overview} nowMs={nowMs} isTold={row === all[0]} />
            ))}
          </tbody>
        </table>
      )}
      {rest}
      <footer className="flex flex-wrap items-center justify-between gap-3 border-line border-t bg-bg px-4 py-2">
        <LineLegend />
        <TableToggle asTable={asTable} onChange={setAsTable} />
      </footer>
    </div>
  );
}

interface RowProps {
  row: ProjectRow;
  overview: Overview | undefined;
  nowMs: number;
  /** The verdict above tells why. */
  isTold: boolean;
}

function Row({ row, overview, nowMs, isTold }: RowProps) {
  const paths = usePaths();
  const { project } = row;
  const running = row.backups.find(({ status }) => status === 'running');
  return (
    <tr className="border-line border-b align-middle last:border-b-0">
      <th scope="row" className="py-2 pr-3 pl-4 text-left font-normal">
        <span className="flex items-center gap-2">
          <Link
            to={paths.project(project.id)}
            className="truncate font-semibold hover:underline"
            title={project.name}
            dir="auto"
          >
            {project.name}
          </Link>
          {running && <Badge tone="move">{running.progress.percent} %</Badge>}
        </span>
        {row.verdict && <VerdictState verdict={row.verdict} />}
        {!isTold && <Reason row={row} />}
      </th>
      <td className="py-2 pr-3">
        <Newest row={row} />
      </td>
      <td className="py-1">
        <Line
          label={labelOf(row, lineDays, nowMs)}
          days={lineDays}
          nowMs={nowMs}
          points={pointsOf(row, overview?.nextRuns)}
          bands={bandsOf(row)}
        />
      </td>
      <td className="py-2 pr-3 pl-5">
        <Reach row={row} nowMs={nowMs} />
      </td>
      <td className="py-2 pr-4">
        <Proven row={row} />
      </td>
    </tr>
  );
}

function labelOf(row: ProjectRow, days: number, nowMs: number): string {
  const points = goodPoints(row).filter((backup) => nowMs - Date.parse(asOf(backup)) <= days * dayMs);
  return t.overview.lineLabel(row.project.name, points.length, days);
}

const ofAge: readonly string[] = ['late', 'very_late', 'failing'];

/** Coloured if the backup is too old, also when something worse is wrong. */
function ageTone({ judged, verdict }: ProjectRow): string {
  if (!judged?.protection.reasons.some(({ code }) => ofAge.includes(code))) return '';
  return verdict === 'failing' ? 'text-fail' : 'text-risk';
}

function Newest({ row }: { row: ProjectRow }) {
  return (
    <>
      {row.newestAt ? (
        <span className={ageTone(row)}>
          <Time at={row.newestAt} as="age" />
        </span>
      ) : (
        <span className="text-ink3">{t.overview.table.none}</span>
      )}
      <span className="block text-meta text-ink3">{intervalWords(row)}</span>
    </>
  );
}

function Proven({ row }: { row: ProjectRow }) {
  const drill = row.judged?.lastDrill;
  if (!drill) return <span className="text-ink3">{t.common.never}</span>;
  return (
    <>
      {!drill.passed && <span className="block text-fail">{t.jobs.status.failed}</span>}
      <Time at={drill.completedAt} as="age" />
    </>
  );
}

/** The service's reason for the verdict. */
function Reason({ row }: { row: ProjectRow }) {
  if (!row.reason || row.verdict === 'protected' || row.verdict === 'manual') return null;
  return <span className="block text-ink2 text-meta">{row.reason.message}</span>;
}

function intervalWords(row: ProjectRow): string {
  const schedule = row.judged?.schedule;
  if (!schedule) return row.scheduleName ?? t.overview.table.noSchedule;
  const everyMs = schedule.intervalSeconds * 1000;
  return everyMs === dayMs ? t.overview.table.daily : t.overview.table.every(formatDuration(everyMs));
}

/** Safety backups hold what one restore was about to overwrite: no project comes back from them. Older ones are not told apart. */
function pointsIn(row: ProjectRow): number {
  const completed = row.backups.filter(({ status }) => status === 'completed').length;
  return row.project.statistics.backupCount > completed ? row.project.statistics.backupCount : goodPoints(row).length;
}

function Reach({ row, nowMs }: { row: ProjectRow; nowMs: number }) {
  const zone = useZone();
  const { enabled, coveredFrom, gaps } = row.project.pitr;
  const until = standsStillAt(row.project.pitr, nowMs);
  const shown = row.backups.filter(({ status }) => status === 'completed');
  const oldest = goodPoints(row).at(-1);
  const { backupCount } = row.project.statistics;
  const minuteOf = (at: string) => `${formatDay(at, zone)} ${formatHour(at, zone)}`;
  if (enabled && coveredFrom)
    return (
      <>
        {t.overview.table.anySecond}
        <span className={`block text-meta ${gaps.length > 0 || until ? 'text-risk' : 'text-ink3'}`}>
          {[t.overview.table.since(minuteOf(coveredFrom)), until && t.overview.table.until(minuteOf(until))]
            .filter(Boolean)
            .join(' ')}
          {gaps.length > 0 && `, ${t.overview.table.gaps(gaps.length)}`}
        </span>
      </>
    );
  return (
    <>
      {t.overview.table.points(pointsIn(row))}
      <span className="block text-meta text-ink3">
        {backupCount > shown.length
          ? t.overview.table.sinceBefore(formatDay(nowMs - lineDays * dayMs, zone))
          : oldest && t.overview.table.since(formatDay(asOf(oldest), zone))}
      </span>
    </>
  );
}

function PhoneLines({ rows, overview, nowMs }: ProjectLinesProps) {
  const paths = usePaths();
  return (
    <section>
      <header className="flex justify-between border-line border-b bg-bg px-4 py-2.5 text-table">
        <h2 className="font-semibold">{t.projects.title}</h2>
        <span className="text-ink3">{t.overview.lastDays}</span>
      </header>
      <ul>
        {rows.map((row, index) => (
          <li key={row.project.id} className="border-line border-b px-4 py-3">
            <div className="flex items-center justify-between gap-3">
              <Link to={paths.project(row.project.id)} className="min-w-0 truncate font-semibold" dir="auto">
                {row.project.name}
              </Link>
              {row.verdict && <VerdictState verdict={row.verdict} />}
            </div>
            <Line
              label={labelOf(row, phoneDays, nowMs)}
              days={phoneDays}
              nowMs={nowMs}
              points={pointsOf(row, overview?.nextRuns)}
              bands={bandsOf(row)}
            />
            {index > 0 && <Reason row={row} />}
            <p className="flex justify-between text-meta text-ink3">
              <span>
                {row.newestAt ? <Time at={row.newestAt} as="age" /> : t.overview.table.none}, {intervalWords(row)}
              </span>
              <span>
                {row.project.pitr.enabled && row.project.pitr.coveredFrom
                  ? t.overview.table.anySecond
                  : t.overview.table.points(pointsIn(row))}
              </span>
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}
