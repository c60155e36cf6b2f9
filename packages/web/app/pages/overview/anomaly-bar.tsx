import { TriangleAlert } from 'lucide-react';
import { useAct } from '../../api/calls.ts';
import { useCan } from '../../api/organization.tsx';
import { Button, LinkButton } from '../../components/button.tsx';
import { FormProblem } from '../../components/states.tsx';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';
import type { ProjectRow } from './facts.ts';

/** Retention stands still until somebody has had a look. */
export function AnomalyBar({ row }: { row: ProjectRow }) {
  const paths = usePaths();
  const canGoOn = useCan('admin');
  const goOn = useAct('unfreezeRetention');
  const [anomaly] = row.judged?.anomalies ?? [];
  const isFrozen = Boolean(row.judged?.retentionFrozen);
  if (!anomaly && !isFrozen) return null;
  return (
    <section className="flex flex-wrap items-center gap-3 rounded-panel border border-risk-mark bg-risk-weak px-5 py-3">
      <TriangleAlert size={18} aria-hidden className="shrink-0 text-risk" />
      <div className="min-w-0 flex-1 text-table">
        <h2 className="font-semibold">{t.overview.anomaly(row.project.name)}</h2>
        <p className="text-ink2">{t.overview.anomalyText}</p>
        <FormProblem error={goOn.error} />
      </div>
      {anomaly && <LinkButton to={paths.compare(anomaly.backupId)}>{t.overview.haveALook}</LinkButton>}
      {canGoOn && isFrozen && (
        <Button busy={goOn.isPending} onClick={() => goOn.mutate({ params: { projectId: row.project.id } })}>
          {t.overview.goOn}
        </Button>
      )}
    </section>
  );
}
