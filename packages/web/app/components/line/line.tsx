import { useLayoutEffect, useRef, useState } from 'react';
import { failedLast } from './failed-last.ts';
import { Band, type LineBand, type LinePoint, middle, Point } from './marks.tsx';
import { scaleOf } from './scale.ts';

interface LineProps {
  label: string;
  days: number;
  nowMs: number;
  points: readonly LinePoint[];
  bands: readonly LineBand[];
}

const height = 44;
/** Past marks end before the line of now, due ones begin after it: half a mark and a gap. */
const besideNowPx = 7;

/** Room for a whole ring at the end of the line. */
const dueRoomPx = 4;

/** The line of time: blocks and ticks are backups, a band is any second (point in time). */
export function Line({ label, days, nowMs, points, bands }: LineProps) {
  const [ref, width] = useWidth();
  const scale = scaleOf(days, nowMs, width);
  const isInside = (ms: number) => ms >= scale.fromMs && ms <= scale.toMs;
  const nowX = scale.x(nowMs);
  const xOf = ({ kind, atMs }: LinePoint) =>
    kind === 'due'
      ? Math.min(Math.max(scale.x(atMs), nowX + besideNowPx), width - dueRoomPx)
      : Math.min(scale.x(atMs), nowX - besideNowPx);
  return (
    <div ref={ref} className="w-full">
      <svg
        role="img"
        aria-label={label}
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        className="block max-w-full"
      >
        <path d={`M0 ${middle}H${nowX}`} className="stroke-line" strokeWidth="1.5" />
        <path d={`M${nowX} ${middle}H${width}`} className="stroke-control" strokeWidth="1.5" strokeDasharray="1.5 3" />
        {bands.map((band) => (
          <Band
            key={`${band.kind} ${band.fromMs}`}
            band={band}
            x1={Math.max(0, scale.x(band.fromMs))}
            x2={Math.min(nowX, scale.x(band.toMs))}
          />
        ))}
        {failedLast(points.filter(({ atMs }) => isInside(atMs))).map((point) => (
          <Point key={`${point.kind} ${point.id}`} point={point} x={xOf(point)} />
        ))}
        <path d={`M${nowX} 2V${height - 6}`} className="stroke-ink" strokeWidth="1.5" />
      </svg>
    </div>
  );
}

/** Measured before the first paint: a wrong width made a phone's page wider than its screen for a moment. */
export function useWidth(): [React.RefObject<HTMLDivElement | null>, number] {
  const ref = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(480);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    const measure = () => setWidth(Math.max(80, Math.floor(element.getBoundingClientRect().width)));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}
