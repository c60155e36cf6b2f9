import { LoaderCircle } from 'lucide-react';
import { formatCount } from '../format/numbers.ts';
import { t } from '../texts/index.ts';

/** Shown below the loaded rows while more are loading. */
export function LoadingMore({ count }: { count: number }) {
  return (
    <p role="status" className="flex items-center gap-2 border-line border-t px-4 py-2 text-meta text-ink2">
      <LoaderCircle size={14} aria-hidden className="turning shrink-0 text-move" />
      {t.common.readSoFar(formatCount(count))}
    </p>
  );
}
