import { LoaderCircle } from 'lucide-react';
import { formatCount } from '../format/numbers.ts';
import { t } from '../texts/index.ts';

/** Below rows that are there while others are still on their way. */
export function ReadingOn({ count }: { count: number }) {
  return (
    <p role="status" className="flex items-center gap-2 border-line border-t px-4 py-2 text-meta text-ink2">
      <LoaderCircle size={14} aria-hidden className="turning shrink-0 text-move" />
      {t.common.readSoFar(formatCount(count))}
    </p>
  );
}
