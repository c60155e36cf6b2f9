import { type ErrorCode, errorDefinition } from '@holdfast/contract';

/**
 * An error the caller is meant to see: a code from the catalogue, a public sentence and details.
 * What only the operator may see goes into `cause`.
 */
export class Problem extends Error {
  override name = 'Problem';
  readonly code: ErrorCode;
  readonly details: Record<string, unknown> | undefined;

  constructor(code: ErrorCode, message: string, options: { details?: Record<string, unknown>; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.details = options.details;
  }

  get status(): number {
    return errorDefinition(this.code).status;
  }
}

export function invalid(field: string, reason: string): Problem {
  return new Problem('VALIDATION_ERROR', `${field}: ${reason}`, { details: { field, reason } });
}
