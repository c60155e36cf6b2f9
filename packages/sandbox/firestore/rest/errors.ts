import type { CodeName, RpcError } from '../transport/status.ts';

const httpStatus: Record<CodeName, number> = {
  OK: 200,
  INVALID_ARGUMENT: 400,
  FAILED_PRECONDITION: 400,
  OUT_OF_RANGE: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  ALREADY_EXISTS: 409,
  ABORTED: 409,
  RESOURCE_EXHAUSTED: 429,
  CANCELLED: 499,
  UNKNOWN: 500,
  INTERNAL: 500,
  DATA_LOSS: 500,
  UNIMPLEMENTED: 501,
  UNAVAILABLE: 503,
  DEADLINE_EXCEEDED: 504,
};

export interface RestError {
  readonly error: { readonly code: number; readonly message: string; readonly status: CodeName };
}

/** A status in the form of Google's REST interfaces. */
export function restError({ codeName, message }: RpcError): RestError {
  return { error: { code: httpStatus[codeName], message, status: codeName } };
}
