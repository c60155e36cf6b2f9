import { type ErrorCode, errorDefinition, errorCodes as serviceCodes } from '@holdfast/contract';
import { exitCode } from '../exit-codes.ts';

/** Codes that say more than their HTTP status. */
const byServiceCode: Readonly<Record<string, number>> = {
  INTEGRITY_ERROR: exitCode.damaged,
  DECRYPTION_ERROR: exitCode.wrongKey,
  POINT_IN_TIME_UNAVAILABLE: exitCode.notFound,
  SOURCE_AUTH_ERROR: exitCode.refused,
  STORAGE_PERMISSION_DENIED: exitCode.refused,
  RESTORE_PERMISSION_DENIED: exitCode.refused,
  BACKUP_TIMEOUT: exitCode.jobFailed,
  READ_BUDGET_EXCEEDED: exitCode.jobFailed,
  CANCELLED: exitCode.cancelled,
  INTERNAL_ERROR: exitCode.unexpected,
  UNEXPECTED_ANSWER: exitCode.unavailable,
};

const byStatus: Readonly<Record<number, number>> = {
  0: exitCode.unavailable,
  401: exitCode.refused,
  403: exitCode.refused,
  404: exitCode.notFound,
  409: exitCode.conflict,
  410: exitCode.notFound,
  412: exitCode.conflict,
  422: exitCode.conflict,
  429: exitCode.unavailable,
};

/** For an error the service answered with, or one that ended a job. */
export function exitCodeOfService(code: string, status = statusOf(code)): number {
  return byServiceCode[code] ?? byStatus[status] ?? (status >= 500 ? exitCode.unavailable : exitCode.usage);
}

function statusOf(code: string): number {
  return serviceCodes.includes(code as ErrorCode) ? errorDefinition(code as ErrorCode).status : 500;
}
