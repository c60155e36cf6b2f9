import { EngineError } from '../../ports/index.ts';
import { AttemptError, conflict, noBucket, notFound } from '../attempt.ts';
import { networkFailure } from '../network-errors.ts';

interface ServiceError extends Error {
  $metadata?: { httpStatusCode?: number; requestId?: string };
  Code?: string;
}

/** Refusals that say: not now. */
const throttled = ['SlowDown', 'Throttling', 'ThrottlingException', 'RequestLimitExceeded', 'TooManyRequests'];
/** What was sent is not what arrived; it was not stored. */
const damagedUpload = [
  'BadDigest',
  'XAmzContentSHA256Mismatch',
  'XAmzContentChecksumMismatch',
  'IncompleteBody',
  'RequestTimeout',
];
/** The service asks to try again: a racing writer, or a clock that the client has by now corrected. */
const clockSkewed = 'RequestTimeTooSkewed';
const passing = ['ConditionalRequestConflict', 'OperationAborted', clockSkewed];
/** There is no room for more, by a quota or by the disks behind the storage: Ceph's and MinIO's words. */
const full = ['QuotaExceeded', 'XMinioStorageFull', 'XMinioAdminBucketQuotaExceeded'];

/** The bucket is there, and elsewhere than the destination says. */
export const wrongRegion: readonly string[] = [
  'AuthorizationHeaderMalformed',
  'PermanentRedirect',
  'IllegalLocationConstraintException',
];

/** What a person would look at first, before the service's own words. */
const refusals: Readonly<Record<string, string>> = {
  InvalidAccessKeyId: 'The storage does not know this access key.',
  SignatureDoesNotMatch: 'The secret of the access key is wrong.',
  ExpiredToken: 'The credentials have expired.',
  InvalidObjectState: 'The object lies in an archive class of the storage, which does not hand it out.',
};

/**
 * Says in the port's words what the service or the network said in theirs. `impliedBy` is the region, where the address
 * follows from it.
 */
export function s3Error(error: unknown, location: string, key: string, impliedBy?: string): Error {
  if (error instanceof EngineError) return error;
  if (!(error instanceof Error)) return new AttemptError('STORAGE_UNAVAILABLE', String(error), { retry: true });
  if (error.cause instanceof EngineError) return error.cause;
  const { $metadata, name, Code } = error as ServiceError;
  const status = $metadata?.httpStatusCode;
  const code = Code ?? name;
  const details = {
    key,
    code,
    ...(status && { status }),
    ...($metadata?.requestId && { requestId: $metadata.requestId }),
  };
  const options = { cause: error, details };
  const at = `${location}: ${code}`;
  // Some services send a code alone; the client then makes up a word for what was not said.
  const said = error.message === 'UnknownError' ? '.' : `: ${error.message}`;
  if (throttled.includes(code) || status === 429)
    return new AttemptError('STORAGE_UNAVAILABLE', `${at}, the storage asks for fewer requests.`, {
      ...options,
      retry: true,
      throttled: true,
    });
  if (damagedUpload.includes(code))
    return new AttemptError('STORAGE_UPLOAD_ERROR', `${at}, the bytes of ${key} did not arrive as sent.`, {
      ...options,
      retry: true,
    });
  if (full.includes(code))
    return new AttemptError('STORAGE_UPLOAD_ERROR', `${at}, the storage has no room for more.`, options);
  if (passing.includes(code)) {
    const why = code === clockSkewed ? "the clock of this machine and the storage's are too far apart" : 'try again';
    return new AttemptError('STORAGE_UNAVAILABLE', `${at}, ${why}.`, { ...options, retry: true });
  }
  if (status === 404 && code === 'NoSuchBucket') return noBucket(location, code, error);
  if (wrongRegion.includes(code))
    return new AttemptError(
      'VALIDATION_ERROR',
      `${location} does not lie in the region that was given (${code})${said}`,
      options,
    );
  if (status === 404) return notFound(location, key, error, code);
  if (status === 412) return conflict(location, key, error);
  if (status === 401 || status === 403)
    return new AttemptError(
      'STORAGE_PERMISSION_DENIED',
      `${refusals[code] ?? 'The storage refused us.'} ${at}${said}`,
      options,
    );
  if (status !== undefined && status >= 300 && status < 400)
    return new AttemptError(
      'STORAGE_UNAVAILABLE',
      `${at}, a redirect (${status}); redirects are not followed.`,
      options,
    );
  // A refusal that the service could explain; asking again would be refused again.
  if (status !== undefined && status >= 400 && status < 500)
    return new AttemptError('VALIDATION_ERROR', `${at}${said}`, options);
  const failure = networkFailure(error);
  if (failure) {
    const region = failure.isUnknownName ? impliedBy : undefined;
    const why = region === undefined ? '' : ` It follows from the region ${region}.`;
    return new AttemptError('STORAGE_UNAVAILABLE', `${location}: ${failure.sentence}${why}`, {
      cause: error,
      details: { ...details, code: failure.code, ...(region !== undefined && { region }) },
      retry: !failure.isRefused,
      mayHaveHappened: !failure.isRefused,
    });
  }
  return new AttemptError('STORAGE_UNAVAILABLE', `${at}${said}`, {
    ...options,
    retry: true,
    mayHaveHappened: true,
  });
}

export function statusOf(error: unknown): number | undefined {
  return (error as ServiceError).$metadata?.httpStatusCode;
}
