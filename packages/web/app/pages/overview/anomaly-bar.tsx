import type { Backup } from '@holdfast/contract';
import { TriangleAlert } from 'lucide-react';
import { useState } from 'react';
import { useAct } from '../../api/calls.ts';
import { useCan } from '../../api/organization.tsx';
import { Button, LinkButton } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import type { Paths } from '../../paths.ts';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';
import type { ProjectRow } from './facts.ts';

type Anomaly = NonNullable<Backup['anomaly']>;

/** A link to the comparison of the backup before with the suspicious one. */
export function lookAt(paths: Paths, { backupId, before, after }: Anomaly & { backupId: string }): string {
  if (!before) return paths.backup(backupId);
  const { collection } = before;
  const within = collection === null ? '' : `&collection=${encodeURIComponent(collection)}`;
  return `${paths.compare(before.backupId, after?.backupId ?? backupId)}${within}`;
}

/** What is suspicious, with the numbers. */
export function anomalyWords({ reason, before, after }: Anomaly): string {
  if (reason === 'verification_failed') return t.overview.anomalyVerify;
  if (reason === 'drill_failed') return t.overview.anomalyDrill;
  return before && after ? t.overview.anomalyCounts(before.documentCount, after.documentCount, before.collection) : '';
}

/** Tells that retention is frozen, and how to let it go on. */
export function AnomalyBar({ row }: { row: ProjectRow }) {
  const paths = usePaths();
  const canGoOn = useCan('admin');
  const [isAsking, setAsking] = useState(false);
  const goOn = useAct('unfreezeRetention', { onDone: () => setAsking(false) });
  const [anomaly] = row.judged?.anomalies ?? [];
  const frozen = row.judged?.retentionFrozen;
  if (!anomaly && !frozen) return null;
  const hasShrunk = anomaly?.before != null;
  return (
    <section className="flex flex-wrap items-center gap-3 rounded-panel border border-risk-mark bg-risk-weak px-5 py-3">
      <TriangleAlert size={18} aria-hidden className="shrink-0 text-risk" />
      <div className="min-w-0 flex-1 text-table">
        <h2 className="font-semibold">
          {hasShrunk ? t.overview.anomaly(row.project.name) : t.overview.suspicious(row.project.name)}
        </h2>
        <p className="text-ink2">
          {anomaly && anomalyWords(anomaly)} {t.overview.anomalyText}
        </p>
      </div>
      {anomaly && <LinkButton to={lookAt(paths, anomaly)}>{t.overview.haveALook}</LinkButton>}
      {canGoOn && frozen && <Button onClick={() => setAsking(true)}>{t.overview.goOn}</Button>}
      {isAsking && (
        <Confirm
          title={t.overview.goOnTitle(row.project.name)}
          action={t.overview.goOnIt}
          danger
          busy={goOn.isPending}
          error={goOn.error}
          onClose={() => setAsking(false)}
          onConfirm={() => goOn.mutate({ params: { projectId: row.project.id } })}
        >
          <p>
            {anomaly && anomalyWords(anomaly)} {t.overview.goOnText}
          </p>
        </Confirm>
      )}
    </section>
  );
}
