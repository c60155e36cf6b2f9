import { minuteMs } from '@holdfast/contract';

let aheadMs = 0;

/**
 * Times come from the service's clock, so ages are computed with it too: the clock of a laptop may be hours off. Answers take a
 * moment and have whole seconds, so differences below a minute are ignored.
 */
export function hearServiceClock({ headers }: Response): void {
  const saidMs = Date.parse(headers.get('date') ?? '');
  if (Number.isNaN(saidMs)) return;
  const differenceMs = saidMs - Date.now();
  aheadMs = Math.abs(differenceMs) < minuteMs ? 0 : differenceMs;
}

/** The current time by the service's clock. */
export function serviceNow(): number {
  return Date.now() + aheadMs;
}

/** Converts a time of this machine's clock to the service's. */
export function byServiceClock(localMs: number): number {
  return localMs + aheadMs;
}
