import { HoldfastError, PathSegmentError } from '@holdfast/contract/client';
import { isEngineError } from '@holdfast/engine';
import { CommandFailure } from './command-failure.ts';
import { exitCode, exitCodeOf } from './exit-codes.ts';
import { fileSentence } from './file-sentence.ts';
import { exitCodeOfService } from './service/exit-code.ts';

/** An error in words for a person and for a program. */
export interface Failure {
  readonly exit: number;
  readonly code: string;
  readonly message: string;
  readonly remedy?: string | undefined;
  readonly details?: unknown;
  readonly requestId?: string | undefined;
  /** Only for unexpected errors. */
  readonly stack?: string | undefined;
}

export function failureOf(error: unknown): Failure {
  const message = error instanceof Error ? error.message : String(error);
  if (isEngineError(error)) {
    const { code, remedy, details } = error;
    return { exit: exitCodeOf(code), code, message, remedy, details };
  }
  if (error instanceof CommandFailure)
    return { exit: error.exit, code: error.code, message, remedy: error.remedy, details: undefined };
  if (error instanceof HoldfastError) return failureOfCall(error);
  if (error instanceof PathSegmentError)
    return { exit: exitCode.usage, code: 'VALIDATION_ERROR', message: `${message}.` };
  if (isFileError(error)) return failureOfFile(error);
  const stack = error instanceof Error ? error.stack : undefined;
  return { exit: exitCode.unexpected, code: 'INTERNAL_ERROR', message, stack };
}

type FileError = NodeJS.ErrnoException & { code: string; path: string };

function isFileError(error: unknown): error is FileError {
  const { code, path, syscall } = (error ?? {}) as Partial<NodeJS.ErrnoException>;
  return typeof code === 'string' && typeof path === 'string' && typeof syscall === 'string';
}

function failureOfFile({ code, path }: FileError): Failure {
  return { exit: exitCode.usage, code: 'FILE_ERROR', message: fileSentence(path, code) };
}

function failureOfCall(error: HoldfastError): Failure {
  const { code, status, message, details, requestId } = error;
  return { exit: exitCodeOfService(code, status), code, message, remedy: remedyOf(error), details, requestId };
}

const remedies: Readonly<Record<string, string>> = {
  SERVICE_ACCOUNT_EXISTS:
    '`holdfast service-account rotate` gives it a new key; for other scopes `holdfast service-account delete` it first.',
  UNAUTHORIZED: 'Sign in with `holdfast login`, or set HOLDFAST_TOKEN or HOLDFAST_API_KEY.',
  NETWORK_ERROR: 'Check the address (HOLDFAST_URL, `holdfast whoami`) and that the service runs.',
  UNEXPECTED_ANSWER: 'Check that the address is that of a Holdfast service.',
};

/** The details that a person needs to continue. */
function remedyOf({ code, message, details }: HoldfastError): string | undefined {
  const { field, reason, errors, usedBy, requiredRole, requiredScope, reconnect, advice, allowedValues } =
    details ?? {};
  if (field === 'storageDestinationId' && message.includes('no default'))
    return 'Add one with `holdfast storage add`, or name one with --storage.';
  if (Array.isArray(allowedValues)) return `Allowed: ${allowedValues.join(', ')}.`;
  if (Array.isArray(errors)) return faultsBeyond(message, errors);
  if (Array.isArray(usedBy))
    return `Used by ${usedBy.map((user: { type: string; id: string }) => `${user.type} ${user.id}`).join(', ')}.`;
  if (field !== undefined) return faultsBeyond(message, [{ field, reason: reason ?? 'is not valid' }]);
  if (requiredRole !== undefined) return `It takes the role ${requiredRole}.`;
  if (requiredScope !== undefined) return `The API key needs the scope ${requiredScope}.`;
  if (reconnect !== undefined) return 'Repair it with `holdfast project reconnect <project>`.';
  if (typeof advice === 'string') return advice;
  return remedies[code];
}

/** The faults after the first, which the message already contains. */
function faultsBeyond(message: string, faults: readonly { field?: unknown; reason?: unknown }[]): string | undefined {
  const lines = faults.map(({ field, reason }) => `${field}: ${reason}`).filter((line) => line !== message);
  return lines.length === 0 ? undefined : lines.join('\n');
}
