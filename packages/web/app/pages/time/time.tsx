import { dayMs, hourMs, type PitrWindow, secondMs } from '@holdfast/contract';
import { History } from 'lucide-react';
import { useState } from 'react';
import { isUnserved, useAll, useRead } from '../../api/calls.ts';
import { useCan } from '../../api/organization.tsx';
import { Filter } from '../../components/filters.tsx';
import { Box } from '../../components/list.tsx';
import { Empty, Problem, Skeleton } from '../../components/states.tsx';
import { useNow } from '../../components/time.tsx';
import { PageFrame } from '../../shell/page.tsx';
import { t } from '../../texts/index.ts';
import { useGo, useParam, usePaths, useSearch } from '../../url.ts';
import type { Project } from '../projects/connect-form.tsx';
import { NoProject, UnknownProject } from '../projects/no-project.tsx';
import { Gaps } from './gaps.tsx';
import { GoBack } from './go-back.tsx';
import { Lines } from './lines.tsx';
import { Enable } from './switch.tsx';
import { WindowFacts, WindowSentence } from './window.tsx';

/** Which moments of a project can be reached. */
export function Page() {
  const projects = useAll('listProjects', {});
  const paths = usePaths();
  const go = useGo();
  const wanted = useParam('projectId');
  // If the address names an unknown project, do not show another one instead.
  const project = projects.rows?.find(({ id }) => id === wanted) ?? (wanted === '' ? usual(projects.rows) : undefined);
  const crumbs = [{ label: t.time.title, to: paths.time() }, ...(project ? [{ label: project.name }] : [])];
  return (
    <PageFrame
      title={t.time.title}
      crumbs={crumbs}
      subtitle={project ? <WindowSentence projectId={project.id} name={project.name} /> : t.time.subtitle}
      badge={
        project && (
          // No higher than the title, so that it stands where other pages have theirs.
          <span className="inline-flex min-w-0 sm:-my-0.5">
            <Filter
              required
              isFirst
              label={t.time.project}
              value={project.id}
              options={projects.rows?.map(({ id, name }) => [id, name]) ?? []}
              onChange={(id) => go(paths.time(id))}
            />
          </span>
        )
      }
    >
      {!projects.rows &&
        (projects.error ? (
          <Box>
            <Problem error={projects.error} onRetry={() => void projects.refetch()} />
          </Box>
        ) : (
          <Skeleton />
        ))}
      {projects.rows?.length === 0 && (
        <Box>
          <NoProject icon={History}>{t.time.offText}</NoProject>
        </Box>
      )}
      {!project && projects.rows && projects.rows.length > 0 && <UnknownProject icon={History} />}
      {project && <Shown key={project.id} projectId={project.id} />}
    </PageFrame>
  );
}

/** Without a project in the address, prefer one with point in time. */
const usual = (projects: readonly Project[] = []) =>
  projects.find(({ pitr }) => pitr.coveredFrom !== null || pitr.enabled) ?? projects[0];

function Shown({ projectId }: { projectId: string }) {
  const pitr = useRead('getPitr', { params: { projectId } }, { everyMs: 5000 });
  const canSwitch = useCan('member');
  if (isUnserved(pitr.error))
    return (
      <Box>
        <Empty icon={History} title={t.time.unserved} />
      </Box>
    );
  if (pitr.error && !pitr.data)
    return (
      <Box>
        <Problem error={pitr.error} onRetry={() => void pitr.refetch()} />
      </Box>
    );
  if (!pitr.data) return <Skeleton />;
  // After switching off, captured changes stay reachable until their retention ends.
  if (!pitr.data.enabled && pitr.data.coveredFrom === null)
    return (
      <Box>
        <Empty
          icon={History}
          title={t.time.off}
          action={canSwitch && <Enable projectId={projectId} pitr={pitr.data} />}
        >
          {t.time.offText}
        </Empty>
      </Box>
    );
  return <Reachable projectId={projectId} pitr={pitr.data} />;
}

function Reachable({ projectId, pitr }: { projectId: string; pitr: PitrWindow }) {
  // Clocks differ by seconds: captured changes are never in the future.
  const now = Math.max(useNow(), Date.parse(pitr.coveredTo ?? '') || 0);
  const [search, setSearch] = useSearch();
  const days = pitr.retentionDays ?? 7;
  const from = new Date(Math.floor(now / hourMs) * hourMs - days * dayMs).toISOString();
  const backups = useAll('listBackups', { query: { projectId, status: 'completed', from } }).rows ?? [];
  const given = Date.parse(search.at ?? '');
  const [chosenMs, setChosenMs] = useState(given);
  // Default: the newest reachable moment, to the second.
  const newestMs = Math.floor(Date.parse(pitr.coveredTo ?? new Date(now).toISOString()) / secondMs) * secondMs;
  const atMs = Number.isNaN(chosenMs) ? newestMs : chosenMs;
  const choose = (ms: number) => {
    setChosenMs(ms);
    void setSearch({ at: new Date(ms).toISOString() }, { replace: true });
  };
  return (
    <>
      <WindowFacts projectId={projectId} pitr={pitr} />
      {pitr.coveredFrom === null ? (
        <Box>
          <Empty icon={History} title={t.time.status[pitr.status]}>
            {t.time.nothingYet}
          </Empty>
        </Box>
      ) : (
        <>
          <Lines projectId={projectId} pitr={pitr} backups={backups} nowMs={now} atMs={atMs} onChoose={choose} />
          <GoBack projectId={projectId} pitr={pitr} atMs={atMs} onChoose={choose} />
        </>
      )}
      <Gaps gaps={pitr.gaps} onChoose={choose} />
    </>
  );
}
