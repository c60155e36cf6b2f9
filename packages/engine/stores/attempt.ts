import {
  type BlobInfo,
  EngineError,
  type EngineErrorCode,
  type PutOptions,
  type VersionedBlobStore,
} from '../ports/index.ts';

/**
 * A store that makes one attempt per call. An attempt may fail for a temporary reason, and its error says so. Only
 * `withRetries` turns it into a BlobStore that keeps all promises of the port.
 */
export interface AttemptStore extends VersionedBlobStore {
  /**
   * The stored object, if it has exactly these bytes and a lock that lasts at least as long as the options ask;
   * undefined otherwise. Asked after an answer was lost.
   */
  holds(key: string, bytes: Uint8Array, options?: PutOptions): Promise<BlobInfo | undefined>;
}

/** An error of one attempt. `retry` says whether the next attempt may do better. */
export class AttemptError extends EngineError {
  readonly retry: boolean;
  /** The store asked us to slow down: wait longer than after an ordinary error. */
  readonly throttled: boolean;
  /** The answer was lost or unclear: what was asked for may have been done. */
  readonly mayHaveHappened: boolean;

  constructor(
    code: EngineErrorCode,
    message: string,
    options: {
      retry?: boolean;
      throttled?: boolean;
      mayHaveHappened?: boolean;
      details?: Record<string, unknown>;
      cause?: unknown;
    } = {},
  ) {
    super(code, message, options);
    this.retry = options.retry ?? false;
    this.throttled = options.throttled ?? false;
    this.mayHaveHappened = options.mayHaveHappened ?? false;
  }
}

export function notFound(location: string, key: string, cause?: unknown, code?: string): AttemptError {
  return new AttemptError('STORAGE_NOT_FOUND', `There is no object ${key} in ${location}.`, {
    details: { key, ...(code !== undefined && { code }) },
    ...(cause !== undefined && { cause }),
  });
}

/** Not STORAGE_NOT_FOUND: without the bucket nobody knows whether its objects are missing. */
export function noBucket(location: string, code: string | number, cause: unknown): AttemptError {
  return new AttemptError('STORAGE_UNAVAILABLE', `There is no bucket at ${location} (${code}).`, {
    details: { code },
    cause,
  });
}

export function conflict(location: string, key: string, cause?: unknown): AttemptError {
  return new AttemptError('STORAGE_CONFLICT', `The object ${key} in ${location} is not in the expected state.`, {
    details: { key },
    ...(cause !== undefined && { cause }),
  });
}

export function objectTooShort(location: string, key: string, offset: number, length: number): AttemptError {
  return new AttemptError('INTEGRITY_ERROR', `The object ${key} in ${location} ends before byte ${offset + length}.`, {
    details: { key, offset, length },
  });
}

export function tooLarge(location: string, key: string, size: number, bytesMax: number): AttemptError {
  return new AttemptError('VALIDATION_ERROR', `The object ${key} in ${location} is larger than ${bytesMax} bytes.`, {
    details: { key, size, bytesMax },
  });
}

/** Fewer or other bytes arrived than the store said it holds; read again. */
export function damagedInTransit(location: string, key: string, cause?: unknown): AttemptError {
  return new AttemptError('INTEGRITY_ERROR', `The bytes of ${key} that came from ${location} are not those stored.`, {
    retry: true,
    details: { key },
    ...(cause !== undefined && { cause }),
  });
}

/** Names outside the prefix belong to somebody else, or are made up. */
export function unexpectedName(location: string, prefix: string): AttemptError {
  return new AttemptError('STORAGE_UNAVAILABLE', `${location}: the listing of ${prefix} holds names not asked for.`);
}

/** Going on from the last name would never end. */
export function listingDoesNotAdvance(location: string, prefix: string): AttemptError {
  return new AttemptError('STORAGE_UNAVAILABLE', `${location}: the listing of ${prefix} does not advance.`);
}

export function callTimedOut(location: string, timeoutMs: number): AttemptError {
  return new AttemptError('STORAGE_UNAVAILABLE', `${location} did not answer within ${timeoutMs} ms.`, {
    retry: true,
    mayHaveHappened: true,
  });
}

/** A missing permission says nothing about the bucket itself. */
export function lockPermissionMissing(location: string, permission: string, cause: unknown): AttemptError {
  const message = `Whether the bucket of ${location} can lock objects is not known: the credentials lack ${permission}.`;
  return new AttemptError('STORAGE_PERMISSION_DENIED', message, { details: { permission }, cause });
}

export function locked(location: string, keys: readonly string[], cause?: unknown): AttemptError {
  const shown = keys.slice(0, 5).join(', ');
  const message = `Objects in ${location} are locked, held, or not ours to change: ${shown}${keys.length > 5 ? ' …' : ''}`;
  return new AttemptError('STORAGE_PERMISSION_DENIED', message, {
    details: { lockedKeys: keys.slice(0, 1000) },
    ...(cause !== undefined && { cause }),
  });
}
