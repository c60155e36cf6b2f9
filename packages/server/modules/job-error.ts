import { type ErrorCode, errorDefinition, type JobErrorCode, jobErrorCodes } from '@holdfast/contract';
import { EngineError } from '@holdfast/engine';
import { Problem } from '../platform/problem.ts';

/** Why a job ended before its aim, as it is kept and shown. */
export interface StoredError {
  code: string;
  message: string;
  details?: Record<string, unknown>;
  retryable: boolean;
  advice: string;
}

/** Codes the engine tells apart and the catalogue does not. */
const nearest: Partial<Record<string, JobErrorCode>> = {
  SOURCE_NOT_FOUND: 'SOURCE_UNAVAILABLE',
  SNAPSHOT_TOO_OLD: 'SOURCE_UNAVAILABLE',
  STORAGE_NOT_FOUND: 'STORAGE_UNAVAILABLE',
  STORAGE_CONFLICT: 'STORAGE_UPLOAD_ERROR',
  VALIDATION_ERROR: 'INTERNAL_ERROR',
};

/** Whatever ended a job, as the record tells it: a code of the catalogue, whether trying again can help, and how to mend it. */
export function toJobError(error: unknown, details: Record<string, unknown> = {}): StoredError {
  const code = jobErrorCode(error);
  const { job } = errorDefinition(code);
  const told = error instanceof EngineError || error instanceof Problem;
  return {
    code,
    message: (told ? error.message : 'Something failed that should not.').slice(0, 2000),
    details: { ...(told ? error.details : {}), ...details },
    retryable: error instanceof EngineError && code !== 'INTERNAL_ERROR' ? error.retryable : (job?.retryable ?? false),
    advice: (job?.advice ?? 'Try again.').slice(0, 1000),
  };
}

function jobErrorCode(error: unknown): JobErrorCode {
  const code = error instanceof EngineError || error instanceof Problem ? (error.code as string) : 'INTERNAL_ERROR';
  if ((jobErrorCodes as readonly string[]).includes(code)) return code as JobErrorCode;
  // What the other side refused with a status of its own is no fault of ours.
  if (error instanceof EngineError && code === 'VALIDATION_ERROR' && error.details.status !== undefined)
    return 'STORAGE_UNAVAILABLE';
  return nearest[code] ?? 'INTERNAL_ERROR';
}

/** The same as an answer to a call that talks to the other side at once. */
export function toProblem(error: unknown): unknown {
  if (!(error instanceof EngineError)) return error;
  const stored = toJobError(error);
  return new Problem(stored.code as ErrorCode, stored.message, {
    details: { reason: error.message.slice(0, 2000) },
    cause: error,
  });
}
