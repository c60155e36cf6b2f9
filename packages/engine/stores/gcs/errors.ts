import { EngineError } from '../../ports/index.ts';
import { AttemptError, conflict, locked, noBucket, notFound } from '../attempt.ts';
import { networkFailure } from '../network-errors.ts';
import { UnansweredError } from './http.ts';

const throttled = ['rateLimitExceeded', 'userRateLimitExceeded'];
const lockReasons = ['retentionPolicyNotMet', 'objectUnderActiveHold'];
/** The token server's way of saying that the consent or the key is no longer good. */
const refusedGrants = ['invalid_grant', 'invalid_client', 'unauthorized_client', 'invalid_scope', 'deleted_client'];

/** An answer that is no success, in the service's own words. */
export class ServiceError extends Error {
  readonly status: number;
  readonly reason: string | undefined;

  constructor(status: number, message: string, reason: string | undefined) {
    super(message);
    this.status = status;
    this.reason = reason;
  }

  /** From the error document; whatever it holds instead is not repeated. */
  static of(status = 0, text = ''): ServiceError {
    let error: unknown;
    let description: unknown;
    try {
      ({ error, error_description: description } = Object(JSON.parse(text)));
    } catch {}
    // The token endpoint's error is a word, the storage's an object.
    if (typeof error === 'string')
      return new ServiceError(status, textOf(description) ?? error.slice(0, 100), textOf(error));
    const { message, errors } = Object(error) as { message?: unknown; errors?: unknown };
    const reason = Array.isArray(errors) ? textOf(Object(errors[0]).reason) : undefined;
    return new ServiceError(status, textOf(message) ?? 'no reason given', reason);
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value.slice(0, 500) : undefined;
}

/** Says in the port's words what the service or the network said in theirs. */
export function gcsError(error: unknown, location: string, key: string): Error {
  if (error instanceof EngineError) return error;
  if (error instanceof ServiceError) return refusal(error, location, key);
  if (error instanceof UnansweredError) return unanswered(error, location, key);
  const { message = String(error), code } = Object(error) as { message?: string; code?: string };
  return new AttemptError('STORAGE_UNAVAILABLE', `${location}: ${message.slice(0, 500)}`, {
    cause: error,
    details: { key, ...(code !== undefined && { code }) },
    retry: true,
    mayHaveHappened: true,
  });
}

function unanswered(error: UnansweredError, location: string, key: string): AttemptError {
  const { host } = error;
  const failure = networkFailure(error);
  // The customer chose no endpoint here: what could not be reached is told by its name.
  const sentence = failure?.sentence.replace(/the endpoint/i, host) ?? `${host}: ${error.message.slice(0, 500)}`;
  return new AttemptError('STORAGE_UNAVAILABLE', `${location}: ${sentence}`, {
    cause: error,
    details: { key, host, ...(failure && { code: failure.code }) },
    retry: !failure?.isRefused,
    mayHaveHappened: !failure?.isRefused,
  });
}

function refusal(error: ServiceError, location: string, key: string): AttemptError {
  const { status, reason } = error;
  const isOneOf = (reasons: readonly string[]) => reason !== undefined && reasons.includes(reason);
  const options = { cause: error, details: { key, code: reason ?? String(status), status } };
  const message = `${location}: ${reason ?? status}: ${error.message}`;
  if (status === 429 || isOneOf(throttled))
    return new AttemptError('STORAGE_UNAVAILABLE', message, { ...options, retry: true, throttled: true });
  if (status === 403 && isOneOf(lockReasons)) return locked(location, [key], error);
  if (isOneOf(refusedGrants))
    return new AttemptError(
      'STORAGE_PERMISSION_DENIED',
      `The key of the service account is refused. ${message}`,
      options,
    );
  if (status === 401 || status === 403)
    return new AttemptError('STORAGE_PERMISSION_DENIED', `The storage refused us. ${message}`, options);
  if (isMissingBucket(error)) return noBucket(location, reason ?? status, error);
  if (status === 404) return notFound(location, key, error);
  if (status === 412) return conflict(location, key, error);
  if (status === 400 && /match calculated/i.test(error.message))
    return new AttemptError('STORAGE_UPLOAD_ERROR', message, { ...options, retry: true });
  if (status >= 300 && status < 400)
    return new AttemptError(
      'STORAGE_UNAVAILABLE',
      `${location}: a redirect (${status}); redirects are not followed.`,
      options,
    );
  // A refusal that the service could explain; asking again would be refused again.
  if (status >= 400 && status < 500 && status !== 408) return new AttemptError('VALIDATION_ERROR', message, options);
  return new AttemptError('STORAGE_UNAVAILABLE', message, { ...options, retry: true, mayHaveHappened: true });
}

export function isMissingBucket(error: unknown): boolean {
  return error instanceof ServiceError && error.status === 404 && /bucket does not exist/i.test(error.message);
}

export function statusOf(error: unknown): number | undefined {
  return error instanceof ServiceError ? error.status : undefined;
}

/** An answer that says it is a success and is nothing we know. */
export function notUnderstood(what: string): AttemptError {
  return new AttemptError('STORAGE_UNAVAILABLE', `The storage answered with something that is no ${what}.`, {
    retry: true,
    mayHaveHappened: true,
  });
}
