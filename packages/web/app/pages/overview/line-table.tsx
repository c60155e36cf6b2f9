import type { Overview } from '@holdfast/contract';
import type { ReactNode } from 'react';
import type { LineBand, LinePoint } from '../../components/line/marks.tsx';
import { VerdictState } from '../../components/status.tsx';
import { Time } from '../../components/time.tsx';
import { t } from '../../texts/index.ts';
import { bandsOf, type ProjectRow, pointsOf } from './facts.ts';

interface LineTableProps {
  rows: readonly ProjectRow[];
  overview: Overview | undefined;
  /** The texts beside the line. */
  newestOf: (row: ProjectRow) => ReactNode;
  reachOf: (row: ProjectRow) => ReactNode;
  provenOf: (row: ProjectRow) => ReactNode;
}

const names: Readonly<Partial<Record<Mark['kind'], string>>> = t.overview.legend;
const cell = 'px-4 py-1.5 align-top';

/** The line as a table: each project, then everything on its line, newest first. */
export function LineTable({ rows, overview, newestOf, reachOf, provenOf }: LineTableProps) {
  const { table } = t.overview;
  return (
    <div className="overflow-x-auto">
      <table className="w-full border-collapse text-table" aria-label={t.common.showAsTable}>
        <Head titles={[table.project, table.state, table.newest, table.back, table.proven]} />
        <tbody>
          {rows.map((row) => (
            <tr key={row.project.id} className="border-line border-b">
              <th scope="row" className={`${cell} text-left font-semibold`}>
                {row.project.name}
              </th>
              <td className={cell}>{row.verdict && <VerdictState verdict={row.verdict} />}</td>
              <td className={cell}>{newestOf(row)}</td>
              <td className={cell}>{reachOf(row)}</td>
              <td className={cell}>{provenOf(row)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <table className="w-full border-collapse text-table" aria-label={table.onTheLine}>
        <Head titles={[table.project, table.what, table.from, table.to]} />
        <tbody>
          {rows.flatMap((row) =>
            marksOf(row, overview).map((mark) => (
              <tr key={`${row.project.id} ${mark.id}`} className="border-line border-b">
                <th scope="row" className={`${cell} text-left font-normal`}>
                  {row.project.name}
                </th>
                <td className={cell}>{names[mark.kind]}</td>
                <td className={cell}>
                  <Time at={mark.fromMs} />
                </td>
                <td className={cell}>{mark.toMs !== undefined && <Time at={mark.toMs} />}</td>
              </tr>
            )),
          )}
        </tbody>
      </table>
    </div>
  );
}

function Head({ titles }: { titles: readonly string[] }) {
  return (
    <thead>
      <tr className="border-line border-y text-left text-meta text-ink2">
        {titles.map((title) => (
          <th key={title} scope="col" className="px-4 py-2 font-medium">
            {title}
          </th>
        ))}
      </tr>
    </thead>
  );
}

const marksMax = 60;

interface Mark {
  readonly id: string;
  readonly kind: LinePoint['kind'] | LineBand['kind'];
  readonly fromMs: number;
  readonly toMs?: number;
}

function marksOf(row: ProjectRow, overview: Overview | undefined): Mark[] {
  const points = pointsOf(row, overview?.nextRuns).map(({ id, kind, atMs }) => ({ id, kind, fromMs: atMs }));
  const bands = bandsOf(row).map(({ kind, fromMs, toMs }) => ({ id: `${kind} ${fromMs}`, kind, fromMs, toMs }));
  return [...points, ...bands].sort((a, b) => b.fromMs - a.fromMs).slice(0, marksMax);
}
