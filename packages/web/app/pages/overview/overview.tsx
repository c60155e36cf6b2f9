import { Navigate } from '@tanstack/react-router';
import { useCan } from '../../api/organization.tsx';
import { Box } from '../../components/list.tsx';
import { Problem } from '../../components/states.tsx';
import { useNow } from '../../components/time.tsx';
import { PageSkeleton } from '../../shell/page.tsx';
import { PageHeading } from '../../shell/page-heading.tsx';
import { usePageTitle } from '../../shell/page-title.tsx';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';
import { AnomalyBar } from './anomaly-bar.tsx';
import { Below } from './below.tsx';
import { useOverview } from './facts.ts';
import { ProjectLines } from './project-lines.tsx';
import { BackVerdict, ProtectedVerdict } from './verdicts.tsx';

/** The two verdicts, then the projects on the line of time, then the charts. */
export function Page() {
  usePageTitle([{ label: t.overview.title }]);
  const now = useNow();
  const { rows, overview, error, retry } = useOverview(now);
  const paths = usePaths();
  const canBegin = useCan('member');
  if (error && !rows)
    return (
      <div className="p-7 max-md:p-4">
        <PageHeading className="sr-only">{t.overview.title}</PageHeading>
        <Box>
          <Problem error={error} onRetry={retry} />
        </Box>
      </div>
    );
  if (!rows) return <PageSkeleton />;
  if (rows.length === 0 && canBegin) return <Navigate to={paths.start} replace />;
  return (
    <div className="mx-auto flex w-full max-w-[1440px] flex-col gap-5 px-7 py-6 max-md:gap-0 max-md:px-0 max-md:py-0">
      <PageHeading className="sr-only">{t.overview.title}</PageHeading>
      <div className="grid md:grid-cols-2 md:divide-x md:divide-line">
        <ProtectedVerdict rows={rows} />
        <BackVerdict rows={rows} />
      </div>
      {rows.map((row) => (
        <AnomalyBar key={row.project.id} row={row} />
      ))}
      {rows.length > 0 && <ProjectLines rows={rows} overview={overview} nowMs={now} />}
      {overview && rows.length > 0 && <Below overview={overview} rows={rows} />}
    </div>
  );
}
