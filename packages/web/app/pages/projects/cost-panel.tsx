import { useRead } from '../../api/calls.ts';
import { Panel } from '../../components/panel.tsx';
import { Problem, Skeleton } from '../../components/states.tsx';
import { formatAboutMoney, formatDuration } from '../../format/numbers.ts';
import { t } from '../../texts/index.ts';
import type { Project } from './connect-form.tsx';

/** With point in time on, increments and merges are made from the log. */
export const readsNothing = ({ pitr }: Project) => pitr.enabled && pitr.status === 'running';

export function CostPanel({ project }: { project: Project }) {
  const cost = useRead('estimateProjectCost', { params: { projectId: project.id } }, { everyMs: false });
  const rows = cost.data && [
    [t.projects.costFull, cost.data.full] as const,
    [t.projects.costIncrement, cost.data.incremental] as const,
    [t.projects.costRestore, cost.data.restore] as const,
  ];
  return (
    <Panel title={t.projects.cost}>
      {cost.isLoading && <Skeleton rows={3} />}
      {cost.error && <Problem error={cost.error} onRetry={() => void cost.refetch()} />}
      <dl className="flex flex-col gap-2 text-table">
        {rows?.map(([label, estimate]) => (
          <div key={label}>
            <dt className="font-medium">{label}</dt>
            <dd className="text-ink2">
              {estimate === cost.data?.incremental && readsNothing(project) ? (
                t.projects.costFromLog
              ) : (
                <>
                  {t.projects.costLine(estimate.reads, estimate.writes)}
                  <span className="block">
                    {formatAboutMoney(estimate.cost)} ·{' '}
                    {t.projects.costTime(formatDuration(estimate.durationSeconds * 1000))}
                  </span>
                </>
              )}
            </dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}
