import type { PitrWindow } from '@holdfast/contract';
import { TriangleAlert } from 'lucide-react';
import { useZone } from '../../api/organization.tsx';
import { Panel } from '../../components/panel.tsx';
import { formatDuration } from '../../format/numbers.ts';
import { formatClock, formatDay } from '../../format/times.ts';
import { t } from '../../texts/index.ts';
import { firstMsFrom } from './reachable.ts';

/** The gaps, each with the two nearest reachable moments. */
export function Gaps({ gaps, onChoose }: { gaps: PitrWindow['gaps']; onChoose: (ms: number) => void }) {
  const zone = useZone();
  if (gaps.length === 0) return null;
  return (
    <Panel title={t.time.gapsTitle} flush>
      <ul>
        {gaps.map(({ from, to, reason }) => (
          <li
            key={from}
            className="flex flex-wrap items-center gap-x-6 gap-y-1 border-line border-b px-4 py-2.5 text-table last:border-b-0"
          >
            <span className="inline-flex items-center gap-2 font-medium text-risk">
              <TriangleAlert size={15} aria-hidden />
              {t.time.gapOn(formatDay(from, zone), formatClock(from, zone), endOf(from, to, zone))}
            </span>
            <span className="text-ink2">{formatDuration(Date.parse(to) - Date.parse(from))}</span>
            <span className="text-ink2">{reason}</span>
            <span className="ml-auto flex flex-wrap gap-3">
              {t.time.gapText}
              <Nearest word={t.time.gapBefore(formatClock(from, zone))} onClick={() => onChoose(Date.parse(from))} />
              <Nearest word={t.time.gapAfter(formatClock(to, zone))} onClick={() => onChoose(firstMsFrom(to))} />
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** With its day, if that differs. */
function endOf(from: string, to: string, zone: string): string {
  const [day, clock] = [formatDay(to, zone), formatClock(to, zone)];
  return day === formatDay(from, zone) ? clock : t.time.onDay(day, clock);
}

function Nearest({ word, onClick }: { word: string; onClick: () => void }) {
  return (
    <button type="button" onClick={onClick} className="touch font-medium text-held hover:underline max-sm:py-3">
      {word}
    </button>
  );
}
