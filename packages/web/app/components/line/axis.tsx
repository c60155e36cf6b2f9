import { useZone } from '../../api/organization.tsx';
import { formatDay } from '../../format/times.ts';
import { t } from '../../texts/index.ts';
import { useWidth } from './line.tsx';
import { scaleOf } from './scale.ts';
import { midnightsOf } from './ticks.ts';

/** Room for a day's label and half of its right neighbour. */
const nowRoomPx = 40;

/** The axis of days in a table's header. */
export function LineAxis({ days, nowMs }: { days: number; nowMs: number }) {
  const [ref, width] = useWidth();
  const zone = useZone();
  const scale = scaleOf(days, nowMs, width);
  const every = width < 400 ? 4 : 2;
  // A day's label stands where the day begins, unless it would touch the label of now.
  const marks = midnightsOf(scale.fromMs, nowMs, every, zone).filter((ms) => scale.x(ms) < scale.x(nowMs) - nowRoomPx);
  const words = marks.map((ms) => formatDay(ms, zone, nowMs).split(' '));
  return (
    <div ref={ref} className="w-full">
      <svg
        width={width}
        height="16"
        viewBox={`0 0 ${width} 16`}
        aria-hidden="true"
        className="block max-w-full text-meta"
      >
        {marks.map((ms, index) => (
          <text key={ms} x={scale.x(ms)} y="12" className="fill-ink2" fontSize="12">
            {words[index]?.slice(0, words[index][1] === words[index - 1]?.[1] ? 1 : 2).join(' ')}
          </text>
        ))}
        <text x={scale.x(nowMs)} y="12" textAnchor="middle" className="fill-ink" fontSize="12" fontWeight="600">
          {t.common.now}
        </text>
      </svg>
    </div>
  );
}
