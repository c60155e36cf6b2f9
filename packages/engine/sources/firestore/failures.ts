/** Translates gRPC codes to the errors of the engine. */

import { EngineError, type EngineErrorCode } from '../../ports/index.ts';
import { GrpcError, grpcCode, grpcCodeName } from './transport/status.ts';

/**
 * Listening has no read time, so the message decides whether it was too old. For reads their age decides: see
 * readFailure.
 */
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

/** The smallest role that each kind of access needs. */
const roles = {
  read: 'Cloud Datastore Viewer (roles/datastore.viewer)',
  write: 'Cloud Datastore User (roles/datastore.user)',
  accounts: 'Firebase Authentication Admin (roles/firebaseauth.admin)',
};

export function sourceFailure(error: unknown): unknown {
  return translate(error, sourceCodes, roles.read);
}

/** The same from the service that keeps the accounts of people. */
export function accountsFailure(error: unknown): unknown {
  return translate(error, sourceCodes, roles.accounts);
}

/** For a read that failed although its read time can be reached. */
export function sourceFailureNotOfAge(error: unknown): unknown {
  if (!(error instanceof GrpcError)) return error;
  const code = sourceCodes[error.code] ?? 'SOURCE_UNAVAILABLE';
  return new EngineError(code, messageOf(error), { details: { grpcCode: grpcCodeName(error.code) }, cause: error });
}

export function targetFailure(error: unknown): unknown {
  return translate(error, targetCodes, roles.write);
}

const away: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'it refused the connection',
  ECONNRESET: 'the connection broke',
  EHOSTUNREACH: 'there is no way to its address',
  ENETUNREACH: 'there is no way to its address',
  ETIMEDOUT: 'it did not answer in time',
  ENOTFOUND: 'its name could not be resolved',
  EAI_AGAIN: 'its name could not be resolved',
};

/** A network error in words that everybody understands, followed by the original message. */
function messageOf(error: GrpcError): string {
  const { cause } = error;
  const { code = '' } = (cause instanceof AggregateError ? cause.errors[0] : (cause ?? {})) as NodeJS.ErrnoException;
  const reason = away[code];
  return reason === undefined ? error.message : `The database cannot be reached: ${reason} (${error.message}).`;
}

function translate(error: unknown, codes: Readonly<Record<number, EngineErrorCode>>, role: string): unknown {
  if (!(error instanceof GrpcError)) return error;
  const details = { grpcCode: grpcCodeName(error.code) };
  const code = codeOf(error, codes);
  if (error.code !== grpcCode.PERMISSION_DENIED)
    return new EngineError(code, messageOf(error), { details, cause: error });
  const message = `${error.message} The account that the project is connected with needs the role ${role}.`;
  return new EngineError(code, message, { details: { ...details, missing: role }, cause: error });
}

function codeOf(error: GrpcError, codes: Readonly<Record<number, EngineErrorCode>>): EngineErrorCode {
  const aboutTime = error.code === grpcCode.FAILED_PRECONDITION || error.code === grpcCode.INVALID_ARGUMENT;
  if (aboutTime && tooOld.test(error.message)) return 'SNAPSHOT_TOO_OLD';
  return codes[error.code] ?? 'SOURCE_UNAVAILABLE';
}
