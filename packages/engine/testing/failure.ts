import { expect } from 'vitest';
import { type EngineError, isEngineError } from '../ports/index.ts';

/** What a call failed with; it has to fail, and with an error of the engine. */
export async function failure(call: Promise<unknown>): Promise<EngineError> {
  const error = await call.then(
    () => undefined,
    (reason) => reason,
  );
  expect(isEngineError(error)).toBe(true);
  return error as EngineError;
}
