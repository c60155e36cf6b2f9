import { dayMs } from '@holdfast/contract';
import { useZone } from '../../api/organization.tsx';
import { formatDay } from '../../format/times.ts';
import { t } from '../../texts/index.ts';
import { useWidth } from './line.tsx';
import { scaleOf } from './scale.ts';

/** The days above the lines of a table. */
export function LineAxis({ days, nowMs }: { days: number; nowMs: number }) {
  const [ref, width] = useWidth();
  const zone = useZone();
  const scale = scaleOf(days, nowMs, width);
  const every = width < 400 ? 4 : 2;
  const marks = Array.from({ length: Math.floor(days / every) }, (_, index) => nowMs - (days - index * every) * dayMs);
  return (
    <div ref={ref} className="w-full">
      <svg width={width} height="16" viewBox={`0 0 ${width} 16`} aria-hidden="true" className="block text-meta">
        {marks.map((ms, index) => (
          <text key={ms} x={scale.x(ms)} y="12" className="fill-ink2" fontSize="12">
            {index === 0 ? formatDay(ms, zone, nowMs) : formatDay(ms, zone, nowMs).split(' ')[0]}
          </text>
        ))}
        <text x={scale.x(nowMs)} y="12" textAnchor="middle" className="fill-ink" fontSize="12" fontWeight="600">
          {t.common.now}
        </text>
      </svg>
    </div>
  );
}
