import { EngineError, type EngineErrorCode, isEngineError } from '@holdfast/engine';
import { secondMs } from '../platform/durations.ts';

/** A caller waits for the answer. */
export const answerWithinMs = 8 * secondMs;

const whoIsLate = { SOURCE_UNAVAILABLE: 'The database', STORAGE_UNAVAILABLE: 'The storage' } as const;

/**
 * Work that another side has to answer in time. If it does not, that side is unavailable, which is not a cancellation.
 */
export async function inTime<Result>(
  timeoutMs: number,
  code: keyof typeof whoIsLate & EngineErrorCode,
  work: (signal: AbortSignal) => Promise<Result>,
  gone?: AbortSignal,
): Promise<Result> {
  const late = AbortSignal.timeout(timeoutMs);
  try {
    return await work(gone ? AbortSignal.any([gone, late]) : late);
  } catch (error) {
    if (!late.aborted || !isEngineError(error, 'CANCELLED')) throw error;
    throw new EngineError(code, `${whoIsLate[code]} did not answer within ${timeoutMs / secondMs} seconds.`);
  }
}
