import { VerdictState } from '../../components/status.tsx';
import { Time } from '../../components/time.tsx';
import { t } from '../../texts/index.ts';
import { momentOf, typeName } from '../backups/shared.tsx';
import type { ProjectRow } from './facts.ts';

/** What the picture shows, as words. */
export function LineTable({ rows }: { rows: readonly ProjectRow[] }) {
  return (
    <table className="w-full border-collapse text-table" aria-label={t.common.showAsTable}>
      <thead>
        <tr className="border-line border-b text-left text-meta text-ink2">
          <th scope="col" className="px-4 py-2 font-medium">
            {t.overview.table.project}
          </th>
          <th scope="col" className="px-4 py-2 font-medium">
            {t.backups.columns.snapshot}
          </th>
          <th scope="col" className="px-4 py-2 font-medium">
            {t.backups.columns.type}
          </th>
          <th scope="col" className="px-4 py-2 font-medium">
            {t.backups.columns.status}
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.flatMap((row) =>
          row.backups.slice(0, 40).map((backup, index) => (
            <tr key={backup.id} className="border-line border-b">
              <th scope="row" className="px-4 py-1.5 text-left font-normal">
                {index === 0 && (
                  <>
                    <b className="font-semibold">{row.project.name}</b>{' '}
                    {row.verdict && <VerdictState verdict={row.verdict} />}
                  </>
                )}
              </th>
              <td className="px-4 py-1.5">
                <Time at={momentOf(backup)} />
              </td>
              <td className="px-4 py-1.5">{typeName(backup)}</td>
              <td className="px-4 py-1.5">{t.jobs.status[backup.status]}</td>
            </tr>
          )),
        )}
      </tbody>
    </table>
  );
}
