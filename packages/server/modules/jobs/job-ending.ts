import { EngineError, isEngineError } from '@holdfast/engine';
import { Problem } from '../../platform/problem.ts';

/** Another worker holds the work now, or its record has ended: stop without a word. */
export class Superseded extends Error {}

/** Whether the same work may succeed when another worker, or a later moment, tries it. */
export function isTransient(error: unknown): boolean {
  if (error instanceof EngineError) return error.retryable;
  return !(error instanceof Problem);
}

/** Why work was stopped, where the engine only says that it was. */
export function reasonOf(error: unknown): unknown {
  return isEngineError(error, 'CANCELLED') && error.cause instanceof Error ? error.cause : error;
}
