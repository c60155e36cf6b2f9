import { minuteMs } from '@holdfast/contract';

let aheadMs = 0;

/**
 * What happened and what is due is told by the service's clock, so ages are counted by it too: the clock of a laptop may be
 * hours off. An answer is on its way for a moment and tells whole seconds, so less than a minute is no difference.
 */
export function hearServiceClock({ headers }: Response): void {
  const saidMs = Date.parse(headers.get('date') ?? '');
  if (Number.isNaN(saidMs)) return;
  const differenceMs = saidMs - Date.now();
  aheadMs = Math.abs(differenceMs) < minuteMs ? 0 : differenceMs;
}

/** The present moment as the service sees it. */
export function serviceNow(): number {
  return Date.now() + aheadMs;
}

/** When something was read that was noted by the clock of this machine. */
export function byServiceClock(localMs: number): number {
  return localMs + aheadMs;
}
