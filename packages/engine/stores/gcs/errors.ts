import { EngineError } from '../../ports/index.ts';
import { AttemptError, conflict, locked, notFound } from '../attempt.ts';

interface ServiceError extends Error {
  code?: number | string;
  status?: number;
  errors?: { reason?: string; message?: string }[];
  response?: { status?: number; data?: { error?: unknown } };
}

const throttled = ['rateLimitExceeded', 'userRateLimitExceeded'];
const lockReasons = ['retentionPolicyNotMet', 'objectUnderActiveHold'];
/** The token server's way of saying that the consent or the key is no longer good. */
const refusedGrants = ['invalid_grant', 'invalid_client', 'unauthorized_client', 'invalid_scope', 'deleted_client'];

/** Says in the port's words what the service or the network said in theirs. */
export function gcsError(error: unknown, location: string, key: string): Error {
  if (error instanceof EngineError) return error;
  if (!(error instanceof Error)) return new AttemptError('STORAGE_UNAVAILABLE', String(error), { retry: true });
  if (error.cause instanceof EngineError) return error.cause;
  const status = statusOf(error);
  const reason = reasonOf(error);
  const details = { key, code: reason ?? (error as ServiceError).code ?? error.name, ...(status && { status }) };
  const options = { cause: error, details };
  const message = `${location}: ${reason ?? status ?? error.name}: ${error.message.slice(0, 500)}`;
  if (status === 429 || (reason !== undefined && throttled.includes(reason)))
    return new AttemptError('STORAGE_UNAVAILABLE', message, { ...options, retry: true, throttled: true });
  if (status === 403 && reason !== undefined && lockReasons.includes(reason)) return locked(location, [key], error);
  if (status === 401 || status === 403 || (reason !== undefined && refusedGrants.includes(reason)))
    return new AttemptError('STORAGE_PERMISSION_DENIED', message, options);
  if (status === 404 && /bucket does not exist/i.test(error.message))
    return new AttemptError('STORAGE_NOT_FOUND', message, options);
  if (status === 404) return notFound(location, key, error);
  if (status === 412) return conflict(location, key, error);
  if (status === 400 && /match calculated/i.test(error.message))
    return new AttemptError('STORAGE_UPLOAD_ERROR', message, { ...options, retry: true });
  if (status !== undefined && status >= 300 && status < 500 && status !== 408)
    return new AttemptError('VALIDATION_ERROR', message, options);
  return new AttemptError('STORAGE_UNAVAILABLE', message, { ...options, retry: true, mayHaveHappened: true });
}

export function statusOf(error: unknown): number | undefined {
  const { code, status, response } = error as ServiceError;
  const number = Number(code ?? status ?? response?.status);
  return Number.isInteger(number) && number >= 100 && number < 600 ? number : undefined;
}

/** Downloads carry the error document in the message, token requests in the response, all others in a list. */
function reasonOf(error: Error): string | undefined {
  const { errors, response } = error as ServiceError;
  if (errors?.[0]?.reason) return errors[0].reason;
  if (typeof response?.data?.error === 'string') return response.data.error;
  return /"reason":\s*"(\w+)"/.exec(error.message)?.[1];
}
