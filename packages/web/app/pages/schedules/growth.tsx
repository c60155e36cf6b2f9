import type { Backup } from '@holdfast/contract';
import { HardDrive } from 'lucide-react';
import { useAll } from '../../api/calls.ts';
import { useNow } from '../../components/time.tsx';
import { formatBytes } from '../../format/numbers.ts';
import { inputDate } from '../../format/times.ts';
import { t } from '../../texts/index.ts';
import type { Draft } from './draft.ts';
import { countOf, yearAhead } from './year-ahead.ts';

const looked = 50;

/**
 * The estimated size after a year, by the size of the newest backups. A backup kept only for its week or month has lost the
 * increments below it and counts as a full one.
 */
export function Growth({ draft }: { draft: Draft }) {
  const now = useNow();
  const { projectId } = draft;
  const backups = useAll(
    'listBackups',
    { query: { projectId, status: 'completed', limit: looked } },
    { enabled: projectId !== '' && draft.collections.trim() === '', everyMs: false },
  ).rows;
  const full = averageOf(backups, 'full', 1);
  const increment = averageOf(backups, 'incremental', looked);
  const days = yearAhead(draft, Date.parse(`${inputDate(now, draft.timezone)}T00:00:00Z`));
  if (!days || days.length === 0 || full === null || draft.collections.trim() !== '') return null;
  if (draft.fullEvery > 1 && increment === null) return null;
  const inRow = countOf(days.filter(({ rules }) => rules.includes('daily') || rules.includes('last')));
  const fullsInRow = draft.fullEvery === 1 ? inRow : Math.min(inRow, Math.ceil(inRow / draft.fullEvery) + 1);
  const bytes = (countOf(days) - inRow + fullsInRow) * full + (inRow - fullsInRow) * (increment ?? 0);
  return (
    <div className="flex gap-2 px-1 text-table">
      <HardDrive size={16} aria-hidden className="mt-0.5 shrink-0 text-held" />
      <p>
        <b className="block font-medium">{t.schedules.grows(formatBytes(bytes))}</b>
        <span className="text-ink2">
          {t.schedules.growsText(
            formatBytes(full),
            draft.fullEvery === 1 || increment === null ? null : formatBytes(Math.round(increment)),
          )}
        </span>
      </p>
    </div>
  );
}

/** The mean size of the newest backups of a kind; null if there is none. */
function averageOf(backups: readonly Backup[] | undefined, type: Backup['type'], count: number): number | null {
  const sizes = (backups ?? [])
    .filter((backup) => backup.type === type && backup.trigger !== 'pre_restore' && backup.compressedSize !== null)
    .slice(0, count)
    .map(({ compressedSize }) => compressedSize ?? 0);
  return sizes.length === 0 ? null : sizes.reduce((sum, size) => sum + size, 0) / sizes.length;
}
