import { exitCode } from './exit-codes.ts';

/** A failure that the command itself found, with its exit code. */
export class CommandFailure extends Error {
  readonly code: string;
  readonly exit: number;
  readonly remedy: string | undefined;

  constructor(code: string, message: string, more: { exit: number; remedy?: string; cause?: unknown }) {
    super(message, { cause: more.cause });
    this.code = code;
    this.exit = more.exit;
    this.remedy = more.remedy;
  }
}

export function wrongUsage(message: string, remedy?: string): CommandFailure {
  return new CommandFailure('VALIDATION_ERROR', message, { exit: exitCode.usage, ...(remedy ? { remedy } : {}) });
}
