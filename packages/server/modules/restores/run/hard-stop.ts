import { EngineError } from '@holdfast/engine';
import { secondMs } from '../../../platform/durations.ts';

const graceMs = 10 * secondMs;

/**
 * A cancelled restore stops by itself between two requests. If it only waits for something, this ends the wait after
 * some seconds.
 */
export function hardStop(cancel: AbortSignal): AbortSignal {
  const stop = new AbortController();
  const begin = () =>
    setTimeout(() => stop.abort(new EngineError('CANCELLED', 'The restore was cancelled.')), graceMs).unref();
  if (cancel.aborted) begin();
  else cancel.addEventListener('abort', begin, { once: true });
  return stop.signal;
}
