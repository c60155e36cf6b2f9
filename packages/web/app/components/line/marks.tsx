export interface LinePoint {
  readonly id: string;
  readonly atMs: number;
  readonly kind: 'full' | 'increment' | 'synthetic' | 'failed' | 'due' | 'drill' | 'version' | 'then' | 'now';
}

export interface LineBand {
  readonly fromMs: number;
  readonly toMs: number;
  /** `gap`: no moment inside can be reached. */
  readonly kind: 'any' | 'gap';
}

/** Where the line runs, in pixels from the top. */
export const middle = 20;

export function Band({ band, x1: from, x2: to }: { band: LineBand; x1: number; x2: number }) {
  if (to <= from) return null;
  const width = Math.max(band.kind === 'gap' ? 6 : 1, to - from);
  // A band that is too short to be seen is extended into the past, because what follows may lie in the future.
  const x1 = to - width;
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
      <path d={hatchOf(x1, width)} className="stroke-risk-mark" strokeWidth="1.4" />
    </>
  );
}

const hatchStepPx = 7;
const hatchMax = 400;

/** A diagonal across the whole gap: an empty frame would look like a backup. */
function hatchOf(x1: number, width: number): string {
  const strokes = Math.min(hatchMax, Math.max(1, Math.floor(width / hatchStepPx)));
  const stepPx = width / strokes;
  const lean = Math.min(stepPx, 6) - 2;
  return Array.from(
    { length: strokes },
    (_, index) => `M${x1 + (index + 0.5) * stepPx - lean / 2} ${middle + 5}l${lean} -9`,
  ).join('');
}

const crossAt = (x: number) => `M${x - 3} ${middle - 3}l6 6m0-6l-6 6`;

export function Point({ point, x }: { point: LinePoint; x: number }) {
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
      return (
        <>
          <path d={crossAt(x)} className="stroke-surface" strokeWidth="4.5" strokeLinecap="round" />
          <path d={crossAt(x)} className="stroke-fail-mark" strokeWidth="1.8" />
        </>
      );
    case 'due':
      return <circle cx={x} cy={middle} r="3.2" className="fill-surface stroke-control" strokeWidth="1.6" />;
    case 'version':
      return <circle cx={x} cy={middle} r="5" className="fill-surface stroke-held" strokeWidth="2" />;
    case 'then':
      return <circle cx={x} cy={middle} r="7" className="fill-held stroke-surface" strokeWidth="2" />;
    case 'now':
      return <circle cx={x} cy={middle} r="7" className="fill-ink stroke-surface" strokeWidth="2" />;
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
