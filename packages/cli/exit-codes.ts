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
  refused: 9,
  conflict: 10,
  jobFailed: 11,
  cancelled: 130,
} as const;

export const exitCodeHelp = `
Exit codes:
    0  done
    1  something failed that should not
    2  wrong usage, a value that is not valid, or a deletion that nobody said yes to
    3  damaged: a verification or a drill found differences
    4  the key that opens the backup is not available
    5  not found
    6  unavailable: the service, the database or the storage could not be reached, or asks for patience
    7  partly failed: some documents could not be written
    8  different: a comparison found changes
    9  refused: not signed in, not permitted, or the database or the storage refused its credentials
   10  conflict: in use, taken already, or in a state that does not allow it
   11  the job failed: out of time, over its budget
  130  cancelled: by Ctrl-C, by an answer that was not yes, or because the job was`;

const byCode: Partial<Record<EngineErrorCode, number>> = {
  INTEGRITY_ERROR: exitCode.damaged,
  DECRYPTION_ERROR: exitCode.wrongKey,
  STORAGE_NOT_FOUND: exitCode.notFound,
  STORAGE_CONFLICT: exitCode.conflict,
  SOURCE_NOT_FOUND: exitCode.notFound,
  VALIDATION_ERROR: exitCode.usage,
  POINT_IN_TIME_UNAVAILABLE: exitCode.notFound,
  CANCELLED: exitCode.cancelled,
};

export function exitCodeOf(code: EngineErrorCode): number {
  return byCode[code] ?? exitCode.unavailable;
}
