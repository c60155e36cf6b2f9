import { dayMs } from '@holdfast/contract';
import { Zap } from 'lucide-react';
import { useRead } from '../../api/calls.ts';
import { formatAboutMoney, formatCount } from '../../format/numbers.ts';
import { t } from '../../texts/index.ts';
import type { Draft } from './draft.ts';
import { useNextRuns } from './use-next-runs.ts';

const monthDays = 30;

/** What the reads of a month come to. Of some collections nothing is known here, and nothing is said. */
export function Cost({ draft }: { draft: Draft }) {
  const { preview } = useNextRuns(draft);
  const cost = useRead(
    'estimateProjectCost',
    { params: { projectId: draft.projectId } },
    { enabled: draft.projectId !== '' && draft.collections.trim() === '', everyMs: false },
  );
  const runs = preview.data?.runs ?? [];
  const [first = '', last = ''] = [runs[0], runs.at(-1)];
  const spanMs = Date.parse(last) - Date.parse(first);
  if (!cost.data || cost.error || draft.collections.trim() !== '' || !(spanMs > 0)) return null;
  const runsPerMonth = ((runs.length - 1) * monthDays * dayMs) / spanMs;
  const { full, incremental } = cost.data;
  const perRun = (of: 'reads' | 'cost') => (full[of] + incremental[of] * (draft.fullEvery - 1)) / draft.fullEvery;
  return (
    <div className="flex gap-2 px-1 text-table">
      <Zap size={16} aria-hidden className="mt-0.5 shrink-0 text-held" />
      <p>
        <b className="block font-medium first-letter:uppercase">
          {t.schedules.costs(formatAboutMoney(perRun('cost') * runsPerMonth))}
        </b>
        <span className="text-ink2">
          {t.schedules.costsText(formatCount(Math.round(perRun('reads') * runsPerMonth)))}
        </span>
      </p>
    </div>
  );
}
