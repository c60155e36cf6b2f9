import type { PitrWindow } from '@holdfast/contract';

export interface Reach {
  readonly isReachable: boolean;
  readonly inGap: boolean;
  /** The nearest moments that can be reached, when this one cannot. */
  readonly nearest: readonly number[];
}

/** The first whole millisecond at or after an instant, which may have nanoseconds. */
export function firstMsFrom(instant: string): number {
  const isWhole = !/\.\d{3}\d*[1-9]/.test(instant);
  return Date.parse(instant) + (isWhole ? 0 : 1);
}

/** Whether a moment can be reached; if not, the nearest that can. */
export function reachOf(pitr: Pick<PitrWindow, 'coveredFrom' | 'coveredTo' | 'gaps'>, atMs: number): Reach {
  const [fromMs, toMs] = [firstMsFrom(pitr.coveredFrom ?? ''), Date.parse(pitr.coveredTo ?? '')];
  if (Number.isNaN(fromMs) || Number.isNaN(toMs)) return { isReachable: false, inGap: false, nearest: [] };
  const gap = pitr.gaps.find((one) => atMs > Date.parse(one.from) && atMs < firstMsFrom(one.to));
  if (gap) return { isReachable: false, inGap: true, nearest: [Date.parse(gap.from), firstMsFrom(gap.to)] };
  if (atMs < fromMs) return { isReachable: false, inGap: false, nearest: [fromMs] };
  return atMs > toMs
    ? { isReachable: false, inGap: false, nearest: [toMs] }
    : { isReachable: true, inGap: false, nearest: [] };
}
