import { hourMs, minuteMs, secondMs } from '@holdfast/contract';
import { type KeyboardEvent, type PointerEvent, useRef } from 'react';
import { useZone } from '../../api/organization.tsx';
import { formatCount } from '../../format/numbers.ts';
import { formatClock, formatDateTime } from '../../format/times.ts';
import { t } from '../../texts/index.ts';
import { useWidth } from './line.tsx';
import { Band, type LineBand, type LinePoint, middle, Point } from './marks.tsx';
import { ticksOf } from './ticks.ts';

interface Bar {
  readonly fromMs: number;
  readonly toMs: number;
  readonly value: number;
}

export interface TimeLineProps {
  label: string;
  fromMs: number;
  toMs: number;
  nowMs: number;
  points: readonly LinePoint[];
  bands: readonly LineBand[];
  bars?: readonly Bar[];
  /** Label of the highest bar, built from its value. */
  scale?: (peak: string) => string;
  /** The range that another line shows enlarged. */
  frame?: { fromMs: number; toMs: number };
  chosenMs?: number;
  /** Makes the line a slider: a click chooses, arrow keys move by this step, with Shift by sixty steps. */
  onChoose?: (ms: number) => void;
  stepMs?: number;
}

const barsHeight = 56;
const axisHeight = 24;
/** Half the width of the widest label below the line. */
const tickRoomPx = 30;
/** Room for the label beside the line of now. */
const nowRoomPx = 36;

/** Draws a range of time: what can be reached, what happened, and the chosen moment. */
export function TimeLine(props: TimeLineProps) {
  const { label, fromMs, toMs, nowMs, points, bands, bars = [], scale, frame, chosenMs, onChoose } = props;
  const [ref, width] = useWidth();
  const zone = useZone();
  const top = bars.length > 0 ? barsHeight : 0;
  const height = top + middle * 2 + axisHeight;
  const x = (ms: number) => ((ms - fromMs) / (toMs - fromMs)) * width;
  const isInside = (ms: number) => ms >= fromMs && ms <= toMs;
  const peak = Math.max(1, ...bars.map(({ value }) => value));
  const nowX = Math.min(width, x(nowMs));
  // A label that would overlap the flag of the chosen moment is left out.
  const hasRoom = ({ atMs }: { atMs: number }) =>
    atMs <= nowMs &&
    x(atMs) >= tickRoomPx &&
    x(atMs) <= width - tickRoomPx &&
    (chosenMs === undefined || Math.abs(x(atMs) - x(chosenMs)) > 84);
  const ticks = ticksOf(fromMs, toMs, Math.max(2, Math.floor(width / 110)), zone).filter(hasRoom);
  const drawing = (
    <svg
      role="img"
      aria-label={label}
      aria-hidden={onChoose !== undefined}
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      className="block max-w-full select-none"
    >
      {frame && (
        <rect
          x={Math.max(1, x(frame.fromMs))}
          y="1"
          width={Math.max(8, Math.min(width, x(frame.toMs)) - Math.max(1, x(frame.fromMs)) - 1)}
          height={height - axisHeight}
          rx="4"
          className="fill-sunken stroke-control"
        />
      )}
      {scale && bars.length > 0 && (
        <text x="0" y="12" className="fill-ink2" fontSize="12">
          {scale(formatCount(peak))}
        </text>
      )}
      {bars.map((bar) => (
        <rect
          key={bar.fromMs}
          x={x(bar.fromMs) + 0.5}
          // The minute that is under way ends now.
          width={Math.max(1, Math.min(nowX, x(bar.toMs)) - x(bar.fromMs) - 1)}
          y={top - (bar.value / peak) * (top - 4)}
          height={(bar.value / peak) * (top - 4)}
          className="fill-control"
        />
      ))}
      <g transform={`translate(0 ${top})`}>
        <path d={`M0 ${middle}H${nowX}`} className="stroke-line" strokeWidth="1.5" />
        {bands.map((band) => (
          <Band
            key={`${band.kind} ${band.fromMs}`}
            band={band}
            x1={Math.max(0, x(band.fromMs))}
            x2={Math.min(nowX, x(band.toMs))}
          />
        ))}
        {points
          .filter(({ atMs }) => isInside(atMs))
          .map((point) => (
            <Point key={`${point.kind} ${point.id}`} point={point} x={x(point.atMs)} />
          ))}
        <Names points={points} x={x} width={width} />
      </g>
      {isInside(nowMs) && !points.some(({ kind }) => kind === 'now') && (
        <>
          <path d={`M${nowX} 2V${height - axisHeight}`} className="stroke-ink" strokeWidth="1.5" />
          {width - nowX > nowRoomPx && (
            <text x={nowX + 6} y="11" fontSize="12" fontWeight="600" className="fill-ink">
              {t.common.now}
            </text>
          )}
        </>
      )}
      {ticks.map((tick) => (
        <text key={tick.atMs} x={x(tick.atMs)} y={height - 6} textAnchor="middle" className="fill-ink2" fontSize="12">
          {tick.label}
        </text>
      ))}
      {chosenMs !== undefined && isInside(chosenMs) && (
        <Chosen x={x(chosenMs)} y={top + middle} width={width} height={height} word={formatClock(chosenMs, zone)} />
      )}
    </svg>
  );
  return (
    <div ref={ref} className="w-full">
      {onChoose ? (
        <Slider {...props} onChoose={onChoose} width={width}>
          {drawing}
        </Slider>
      ) : (
        drawing
      )}
    </div>
  );
}

const nameRoomPx = 44;

/** Labels of the two compared versions; close together they move apart, at the edges inwards. */
function Names({ points, x, width }: { points: readonly LinePoint[]; x: (ms: number) => number; width: number }) {
  const then = points.find(({ kind }) => kind === 'then');
  const now = points.find(({ kind }) => kind === 'now');
  const named = [then, now].filter((point) => point !== undefined);
  const areClose = then && now && Math.abs(x(then.atMs) - x(now.atMs)) < nameRoomPx;
  return named.map((point) => {
    const at = x(point.atMs);
    const isLeft = areClose ? point.kind === 'then' : at > width - nameRoomPx;
    const anchor = isLeft ? 'end' : areClose || at < nameRoomPx ? 'start' : 'middle';
    return (
      <text
        key={point.kind}
        x={anchor === 'middle' ? at : at + (areClose ? 3 : -7) * (isLeft ? -1 : 1)}
        y="9"
        textAnchor={anchor}
        fontSize="12"
        fontWeight="600"
        className={point.kind === 'then' ? 'fill-held' : 'fill-ink'}
      >
        {point.kind === 'then' ? t.document.then : t.document.now}
      </text>
    );
  });
}

function Chosen({ x, y, width, height, word }: { x: number; y: number; width: number; height: number; word: string }) {
  const flag = Math.min(width - 37, Math.max(37, x));
  return (
    <g>
      <path d={`M${x} 4V${height - axisHeight}`} className="stroke-held" strokeWidth="2" />
      <circle cx={x} cy={y} r="7" className="fill-held stroke-surface" strokeWidth="2" />
      <rect x={flag - 36} y={height - axisHeight + 1} width="72" height="21" rx="5" className="fill-held" />
      <text x={flag} y={height - 7} textAnchor="middle" fontSize="12" fontWeight="600" className="fill-surface">
        {word}
      </text>
    </g>
  );
}

interface SliderProps extends TimeLineProps {
  onChoose: (ms: number) => void;
  width: number;
  children: React.ReactNode;
}

function Slider({ label, fromMs, toMs, nowMs, chosenMs, onChoose, stepMs = secondMs, width, children }: SliderProps) {
  const frame = useRef<HTMLDivElement>(null);
  const zone = useZone();
  const at = chosenMs ?? nowMs;
  const lastMs = Math.min(toMs, nowMs);
  const choose = (ms: number) => onChoose(Math.min(nowMs, ms));
  const point = (event: PointerEvent) => {
    const left = frame.current?.getBoundingClientRect().left ?? 0;
    const ms = fromMs + ((event.clientX - left) / width) * (toMs - fromMs);
    choose(Math.round(ms / secondMs) * secondMs);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const by = (event.shiftKey ? 60 : 1) * stepMs;
    const moves: Record<string, number> = {
      ArrowLeft: at - by,
      ArrowDown: at - by,
      ArrowRight: at + by,
      ArrowUp: at + by,
      PageDown: at - hourMs,
      PageUp: at + hourMs,
      Home: fromMs,
      End: lastMs,
    };
    const next = moves[event.key];
    if (next === undefined) return;
    event.preventDefault();
    choose(next);
  };
  return (
    <div
      ref={frame}
      role="slider"
      tabIndex={0}
      aria-label={`${label}. ${t.time.arrows(stepMs >= minuteMs ? 1 : 0)}`}
      aria-valuemin={fromMs}
      aria-valuemax={lastMs}
      aria-valuenow={Math.min(lastMs, Math.max(fromMs, at))}
      aria-valuetext={formatDateTime(at, zone)}
      onKeyDown={onKeyDown}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        point(event);
      }}
      onPointerMove={(event) => event.buttons === 1 && point(event)}
      className="cursor-pointer touch-pan-y rounded-tag"
    >
      {children}
    </div>
  );
}
