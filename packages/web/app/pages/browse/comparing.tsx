import { LoaderCircle } from 'lucide-react';
import { Button } from '../../components/button.tsx';
import { ProgressBar } from '../../components/progress.tsx';
import { t } from '../../texts/index.ts';

interface ComparingProps {
  compared: number;
  /** Unknown if only a part of the backup is compared. */
  total: number | null;
  onStop: () => void;
}

/** The progress of a comparison, which reads every document of both sides. */
export function Comparing({ compared, total, onStop }: ComparingProps) {
  return (
    <section
      aria-label={t.browse.comparing}
      className="flex flex-wrap items-center gap-x-5 gap-y-3 rounded-panel bg-move-weak px-5 py-3.5"
    >
      <div className="min-w-0 flex-1">
        <p className="mb-2 flex flex-wrap items-center gap-x-3 gap-y-1 text-table">
          <LoaderCircle size={16} aria-hidden className="turning text-move" />
          <span className="font-medium text-move">{t.browse.comparing}</span>
          <span className="text-ink2">{t.browse.comparedOf(compared, total)}</span>
        </p>
        {total !== null && total > 0 && <ProgressBar percent={(compared / total) * 100} label={t.browse.comparing} />}
      </div>
      <Button onClick={onStop}>{t.browse.stopComparing}</Button>
    </section>
  );
}
