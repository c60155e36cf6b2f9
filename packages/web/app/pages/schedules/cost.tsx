import { Zap } from 'lucide-react';
import { useRead } from '../../api/calls.ts';
import { formatAboutMoney, formatCount } from '../../format/numbers.ts';
import { t } from '../../texts/index.ts';
import { readsNothing } from '../projects/cost-panel.tsx';
import type { Draft } from './draft.ts';
import { useNextRuns } from './use-next-runs.ts';

const monthsPerYear = 12;

/** The price of a month's reads. Unknown, and not shown, for a selection of collections. */
export function Cost({ draft }: { draft: Draft }) {
  const { preview, isWhole } = useNextRuns(draft);
  const { projectId } = draft;
  const cost = useRead(
    'estimateProjectCost',
    { params: { projectId } },
    { enabled: projectId !== '' && draft.collections.trim() === '', everyMs: false },
  );
  const project = useRead('getProject', { params: { projectId } }, { enabled: projectId !== '', everyMs: false });
  const runsPerYear = preview.data?.runsPerYear;
  if (draft.collections.trim() !== '' || !isWhole || preview.error || runsPerYear === undefined) return null;
  if (!cost.data || cost.error || !project.data) return null;
  const runsPerMonth = runsPerYear / monthsPerYear;
  const { full, incremental } = cost.data;
  const isFromLog = draft.fullEvery > 1 && readsNothing(project.data);
  const perRun = (of: 'reads' | 'cost') =>
    isFromLog ? 0 : (full[of] + incremental[of] * (draft.fullEvery - 1)) / draft.fullEvery;
  return (
    <div className="flex gap-2 px-1 text-table" data-monthly-reads={Math.round(perRun('reads') * runsPerMonth)}>
      <Zap size={16} aria-hidden className="mt-0.5 shrink-0 text-held" />
      <p>
        <b className="block font-medium first-letter:uppercase">
          {isFromLog ? t.schedules.costsNothing : t.schedules.costs(formatAboutMoney(perRun('cost') * runsPerMonth))}
        </b>
        <span className="text-ink2">
          {isFromLog
            ? t.schedules.costsNothingText
            : t.schedules.costsText(formatCount(Math.round(perRun('reads') * runsPerMonth)))}
        </span>
      </p>
    </div>
  );
}
