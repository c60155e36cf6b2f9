import { useEffect, useRef, useState } from 'react';
import { scaleOf } from './scale.ts';

export interface LinePoint {
  readonly id: string;
  readonly atMs: number;
  readonly kind: 'full' | 'increment' | 'synthetic' | 'failed' | 'due' | 'drill';
}

export interface LineBand {
  readonly fromMs: number;
  readonly toMs: number;
  /** `gap`: no moment of it can be reached. */
  readonly kind: 'any' | 'gap';
}

interface LineProps {
  label: string;
  days: number;
  nowMs: number;
  points: readonly LinePoint[];
  bands: readonly LineBand[];
}

const height = 44;
const middle = 20;

/** All time is one drawing: blocks and ticks are points one can go back to, a band is any second of it. */
export function Line({ label, days, nowMs, points, bands }: LineProps) {
  const [ref, width] = useWidth();
  const scale = scaleOf(days, nowMs, width);
  const isInside = (ms: number) => ms >= scale.fromMs && ms <= scale.toMs;
  const nowX = scale.x(nowMs);
  return (
    <div ref={ref} className="w-full">
      <svg
        role="img"
        aria-label={label}
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        className="block"
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
        {points
          .filter(({ atMs }) => isInside(atMs))
          .map((point) => (
            <Point key={`${point.kind} ${point.id}`} point={point} x={scale.x(point.atMs)} />
          ))}
        <path d={`M${nowX} 2V${height - 6}`} className="stroke-ink" strokeWidth="1.5" />
      </svg>
    </div>
  );
}

function Band({ band, x1, x2 }: { band: LineBand; x1: number; x2: number }) {
  if (x2 <= x1) return null;
  const width = Math.max(band.kind === 'gap' ? 6 : 1, x2 - x1);
  if (band.kind === 'any')
    return (
      <>
        <rect x={x1} y={middle - 5} width={width} height="10" className="fill-band" />
        <path
          d={`M${x1} ${middle - 5}h${width}M${x1} ${middle + 5}h${width}`}
          className="stroke-held-mark"
          strokeWidth="1"
        />
      </>
    );
  return (
    <>
      <rect
        x={x1}
        y={middle - 7}
        width={width}
        height="14"
        rx="2"
        className="fill-surface stroke-risk-mark"
        strokeWidth="1.4"
      />
      <path
        d={`M${x1 + 1} ${middle + 5}l${Math.min(width, 6) - 2} -9`}
        className="stroke-risk-mark"
        strokeWidth="1.4"
      />
    </>
  );
}

function Point({ point, x }: { point: LinePoint; x: number }) {
  switch (point.kind) {
    case 'full':
      return <rect x={x - 3.5} y={middle - 8} width="7" height="16" rx="2" className="fill-held" />;
    case 'synthetic':
      return (
        <rect
          x={x - 3}
          y={middle - 8}
          width="6"
          height="16"
          rx="2"
          className="fill-surface stroke-held"
          strokeWidth="1.8"
        />
      );
    case 'increment':
      return <path d={`M${x} ${middle - 7}v14`} className="stroke-held" strokeWidth="2" />;
    case 'failed':
      return <path d={`M${x - 3} ${middle - 3}l6 6m0-6l-6 6`} className="stroke-fail-mark" strokeWidth="1.8" />;
    case 'due':
      return <circle cx={x} cy={middle} r="3.2" className="fill-surface stroke-control" strokeWidth="1.6" />;
    case 'drill':
      return (
        <>
          <circle cx={x} cy={middle + 15} r="5" className="fill-held" />
          <path
            d={`M${x - 2.2} ${middle + 15}l1.6 1.6 3-3.2`}
            fill="none"
            className="stroke-surface"
            strokeWidth="1.4"
          />
        </>
      );
  }
}

export function useWidth(): [React.RefObject<HTMLDivElement | null>, number] {
  const ref = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(480);
  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    const observer = new ResizeObserver(
      ([entry]) => entry && setWidth(Math.max(80, Math.floor(entry.contentRect.width))),
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}
