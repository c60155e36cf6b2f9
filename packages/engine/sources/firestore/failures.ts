/** From gRPC's codes to the errors the engine tells apart. */

import { EngineError, type EngineErrorCode } from '../../ports/index.ts';
import { GrpcError, grpcCode, grpcCodeName } from './transport/status.ts';

/** Listening has no read time of its own to go by, so here the words decide. Reads go by their age: see readFailure. */
const tooOld = /too old|older than|whole minute|no longer available/i;

const sourceCodes: Readonly<Record<number, EngineErrorCode>> = {
  [grpcCode.PERMISSION_DENIED]: 'SOURCE_AUTH_ERROR',
  [grpcCode.UNAUTHENTICATED]: 'SOURCE_AUTH_ERROR',
  [grpcCode.NOT_FOUND]: 'SOURCE_NOT_FOUND',
  [grpcCode.RESOURCE_EXHAUSTED]: 'SOURCE_QUOTA_EXCEEDED',
  [grpcCode.INVALID_ARGUMENT]: 'VALIDATION_ERROR',
  [grpcCode.OUT_OF_RANGE]: 'VALIDATION_ERROR',
  [grpcCode.FAILED_PRECONDITION]: 'VALIDATION_ERROR',
  [grpcCode.UNIMPLEMENTED]: 'VALIDATION_ERROR',
  [grpcCode.CANCELLED]: 'CANCELLED',
};

const targetCodes: Readonly<Record<number, EngineErrorCode>> = {
  ...sourceCodes,
  [grpcCode.PERMISSION_DENIED]: 'RESTORE_PERMISSION_DENIED',
  [grpcCode.UNAUTHENTICATED]: 'RESTORE_PERMISSION_DENIED',
  [grpcCode.RESOURCE_EXHAUSTED]: 'RESTORE_QUOTA_EXCEEDED',
};

export function sourceFailure(error: unknown): unknown {
  return translate(error, sourceCodes);
}

/** What a read says that failed for another reason than its age. */
export function sourceFailureOfYoungRead(error: unknown): unknown {
  if (!(error instanceof GrpcError)) return error;
  const code = sourceCodes[error.code] ?? 'SOURCE_UNAVAILABLE';
  return new EngineError(code, error.message, { details: { grpcCode: grpcCodeName(error.code) }, cause: error });
}

export function targetFailure(error: unknown): unknown {
  return translate(error, targetCodes);
}

function translate(error: unknown, codes: Readonly<Record<number, EngineErrorCode>>): unknown {
  if (!(error instanceof GrpcError)) return error;
  const details = { grpcCode: grpcCodeName(error.code) };
  return new EngineError(codeOf(error, codes), error.message, { details, cause: error });
}

function codeOf(error: GrpcError, codes: Readonly<Record<number, EngineErrorCode>>): EngineErrorCode {
  const aboutTime = error.code === grpcCode.FAILED_PRECONDITION || error.code === grpcCode.INVALID_ARGUMENT;
  if (aboutTime && tooOld.test(error.message)) return 'SNAPSHOT_TOO_OLD';
  return codes[error.code] ?? 'SOURCE_UNAVAILABLE';
}
