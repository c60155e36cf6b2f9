import type { EngineErrorCode } from '@holdfast/engine';

/** What scripts can rely on. */
export const exitCode = {
  ok: 0,
  unexpected: 1,
  usage: 2,
  damaged: 3,
  wrongKey: 4,
  notFound: 5,
  unavailable: 6,
  partlyFailed: 7,
  different: 8,
  cancelled: 130,
} as const;

const byCode: Partial<Record<EngineErrorCode, number>> = {
  INTEGRITY_ERROR: exitCode.damaged,
  DECRYPTION_ERROR: exitCode.wrongKey,
  STORAGE_NOT_FOUND: exitCode.notFound,
  SOURCE_NOT_FOUND: exitCode.notFound,
  VALIDATION_ERROR: exitCode.usage,
  POINT_IN_TIME_UNAVAILABLE: exitCode.notFound,
  CANCELLED: exitCode.cancelled,
};

export function exitCodeOf(code: EngineErrorCode): number {
  return byCode[code] ?? exitCode.unavailable;
}
