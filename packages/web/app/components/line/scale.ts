import { dayMs } from '@holdfast/contract';
/** The position of a moment on a line that ends a little after now. */
export interface Scale {
  readonly fromMs: number;
  readonly nowMs: number;
  readonly toMs: number;
  readonly width: number;
  x(ms: number): number;
}

/** The share of the line that is in the future. */
const aheadShare = 0.07;

export function scaleOf(days: number, nowMs: number, width: number): Scale {
  const fromMs = nowMs - days * dayMs;
  const toMs = nowMs + (days * dayMs * aheadShare) / (1 - aheadShare);
  const x = (ms: number) => ((ms - fromMs) / (toMs - fromMs)) * width;
  return { fromMs, nowMs, toMs, width, x };
}
