import { type ErrorCode, type ErrorDetails, errorDefinition, type Plan, planAtLeast } from '@holdfast/contract';

/**
 * An error for the caller: a code from the catalogue, a public sentence and details. What only the operator may see
 * goes into `cause`.
 */
export class Problem<Code extends ErrorCode = ErrorCode> extends Error {
  override name = 'Problem';
  readonly code: Code;
  readonly details: Record<string, unknown> | undefined;
  /** When another try is worthwhile, if known. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    code: Code,
    message: string,
    options: { details?: ErrorDetails<Code>; cause?: unknown; retryAfterSeconds?: number } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.details = options.details;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }

  get status(): number {
    return errorDefinition(this.code).status;
  }
}

/** A used-up quota: a number per window, with the name in the answer's headers. */
export interface UsedUpQuota {
  policy: string;
  limit: number;
  windowSeconds: number;
  /** When a retry can succeed, as far as this quota is concerned. */
  resetSeconds: number;
}

/** The answer names the quota and, in `Retry-After`, when to try again. */
export class QuotaUsedUp extends Problem {
  readonly quota: UsedUpQuota;

  constructor(message: string, quota: UsedUpQuota) {
    super('RATE_LIMITED', message, { retryAfterSeconds: quota.resetSeconds });
    this.quota = quota;
  }
}

export function invalid(field: string, reason: string): Problem {
  return new Problem('VALIDATION_ERROR', `${field}: ${reason}`, { details: { field, reason } });
}

export function requirePlan(current: Plan, required: Plan): void {
  if (planAtLeast(current, required)) return;
  const details = { requiredPlan: required, currentPlan: current };
  throw new Problem('FORBIDDEN', `This call needs the ${required} plan.`, { details });
}
