/** Reasons as Google gives them, each with its status. */
const status = {
  authError: 401,
  backendError: 500,
  conditionNotMet: 412,
  conflict: 409,
  forbidden: 403,
  invalid: 400,
  notFound: 404,
  notImplemented: 501,
  notModified: 304,
  objectUnderActiveHold: 403,
  parseError: 400,
  rateLimitExceeded: 429,
  requestedRangeNotSatisfiable: 416,
  required: 400,
  retentionPolicyNotMet: 403,
  unauthenticated: 401,
  uploadBrokenConnection: 503,
  uploadCancelled: 499,
} as const;

export type GcsReason = keyof typeof status;

export class GcsError extends Error {
  readonly reason: GcsReason;
  readonly status: number;
  readonly headers: Record<string, string>;

  constructor(reason: GcsReason, message: string, headers: Record<string, string> = {}) {
    super(message);
    this.name = 'GcsError';
    this.reason = reason;
    this.status = status[reason];
    this.headers = headers;
  }
}

export function errorBody(error: GcsError): unknown {
  const { status: code, message, reason } = error;
  return { error: { code, message, errors: [{ message, domain: 'global', reason }] } };
}

/** The answer to everything this server does not support: never a silent success. */
export function notImplemented(what: string): GcsError {
  return new GcsError('notImplemented', `${what} is not implemented by this sandbox.`);
}
