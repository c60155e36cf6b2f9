import { EngineError, isEngineError } from '@holdfast/engine';
import { Problem } from '../../platform/problem.ts';

/** Another worker has taken over the work, or its record has ended: stop silently. */
export class Superseded extends Error {}

/** Whether the same work may succeed later or on another worker. */
export function isTransient(error: unknown): boolean {
  if (error instanceof EngineError) return error.retryable;
  return !(error instanceof Problem);
}

/** The reason of an abort, where the engine only reports that it was aborted. */
export function reasonOf(error: unknown): unknown {
  return isEngineError(error, 'CANCELLED') && error.cause instanceof Error ? error.cause : error;
}
