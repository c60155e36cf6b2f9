/**
 * The errors that the engine distinguishes. Everything else that is thrown is a programmer error. Most codes are codes
 * of the public error catalogue; the server maps the others to the nearest one.
 */
export type EngineErrorCode =
  | 'SOURCE_AUTH_ERROR'
  | 'SOURCE_QUOTA_EXCEEDED'
  | 'SOURCE_UNAVAILABLE'
  | 'SOURCE_NOT_FOUND'
  | 'SNAPSHOT_TOO_OLD'
  | 'STORAGE_UNAVAILABLE'
  | 'STORAGE_PERMISSION_DENIED'
  | 'STORAGE_CREDENTIALS_MISSING'
  | 'STORAGE_UPLOAD_ERROR'
  | 'STORAGE_NOT_FOUND'
  | 'STORAGE_CONFLICT'
  | 'RESTORE_PERMISSION_DENIED'
  | 'RESTORE_QUOTA_EXCEEDED'
  | 'INTEGRITY_ERROR'
  | 'DECRYPTION_ERROR'
  | 'POINT_IN_TIME_UNAVAILABLE'
  | 'VALIDATION_ERROR'
  | 'CANCELLED';

/** What a person can do about each error; the sentence is part of the error wherever it is shown. */
const remedies: Record<EngineErrorCode, string> = {
  SOURCE_AUTH_ERROR: 'Reconnect the project, or grant its credentials read access to Firestore.',
  SOURCE_QUOTA_EXCEEDED: 'Wait for the quota to refill, or lower the read rate of the project.',
  SOURCE_UNAVAILABLE: 'The database did not answer; try again later.',
  SOURCE_NOT_FOUND: 'Check the project id and the database id.',
  SNAPSHOT_TOO_OLD: 'Start again with a newer snapshot time, or switch on point-in-time recovery in Firestore.',
  STORAGE_UNAVAILABLE: 'The storage did not answer; try again later.',
  STORAGE_PERMISSION_DENIED: 'Grant the storage credentials read, write, list and delete on the bucket.',
  STORAGE_CREDENTIALS_MISSING: 'Give the destination its credentials.',
  STORAGE_UPLOAD_ERROR: 'The storage did not keep what was sent; try again, then check the bucket.',
  STORAGE_NOT_FOUND: 'The object or bucket does not exist; check the destination and its prefix.',
  STORAGE_CONFLICT: 'Another writer was faster; read again, then repeat.',
  RESTORE_PERMISSION_DENIED: 'Grant the target credentials write access to Firestore.',
  RESTORE_QUOTA_EXCEEDED: 'Wait for the write quota of the target to refill, then resume the restore.',
  INTEGRITY_ERROR: 'The stored bytes are not those that were written; restore from another backup or copy.',
  DECRYPTION_ERROR: 'Supply the key or passphrase this backup was made with.',
  POINT_IN_TIME_UNAVAILABLE: 'Choose an instant that the captured log covers.',
  VALIDATION_ERROR: 'Correct the value and try again.',
  CANCELLED: 'Start again if the cancellation was not meant.',
};

const retryableCodes: ReadonlySet<EngineErrorCode> = new Set([
  'SOURCE_QUOTA_EXCEEDED',
  'SOURCE_UNAVAILABLE',
  'SNAPSHOT_TOO_OLD',
  'STORAGE_UNAVAILABLE',
  'STORAGE_UPLOAD_ERROR',
  'STORAGE_CONFLICT',
  'RESTORE_QUOTA_EXCEEDED',
]);

export class EngineError extends Error {
  readonly code: EngineErrorCode;
  /** Whether the same call may succeed later without anyone changing anything. */
  readonly retryable: boolean;
  readonly remedy: string;
  /** Plain JSON for people and logs. Never credentials, keys or document contents. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: EngineErrorCode,
    message: string,
    options: { details?: Record<string, unknown>; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'EngineError';
    this.code = code;
    this.retryable = retryableCodes.has(code);
    this.remedy = remedies[code];
    this.details = options.details ?? {};
  }
}

export function isEngineError(error: unknown, code?: EngineErrorCode): error is EngineError {
  return error instanceof EngineError && (code === undefined || error.code === code);
}

/** Throws CANCELLED when the signal is aborted; call it between the steps of long work. */
export function throwIfCancelled(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new EngineError('CANCELLED', 'The work was cancelled.', { cause: signal.reason });
}
