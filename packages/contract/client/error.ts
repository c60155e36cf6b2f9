import { z } from 'zod';
import type { ErrorCode } from '../errors.ts';

/**
 * Besides the service's own codes: no answer at all, or one that is not the service's. A newer service may answer with
 * codes this client does not know by name.
 */
export type ClientErrorCode = ErrorCode | 'NETWORK_ERROR' | 'UNEXPECTED_ANSWER' | (string & Record<never, never>);

/** What every failed call throws. */
export class HoldfastError extends Error {
  override readonly name = 'HoldfastError';
  readonly code: ClientErrorCode;
  /** The HTTP status; 0 when no answer came. */
  readonly status: number;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly requestId: string | undefined;

  constructor(
    code: ClientErrorCode,
    message: string,
    more: {
      status: number;
      details?: Record<string, unknown> | undefined;
      requestId?: string | undefined;
      cause?: unknown;
    },
  ) {
    super(message, { cause: more.cause });
    this.code = code;
    this.status = more.status;
    this.details = more.details;
    this.requestId = more.requestId;
  }
}

const anyErrorBody = z.object({
  error: z.object({
    code: z.string(),
    message: z.string(),
    details: z.record(z.string(), z.unknown()).optional(),
    requestId: z.string().optional(),
  }),
});

export async function errorFrom(response: Response): Promise<HoldfastError> {
  const { status } = response;
  const requestId = response.headers.get('x-request-id') ?? undefined;
  const parsed = anyErrorBody.safeParse(await readJson(response));
  if (!parsed.success) {
    return new HoldfastError('UNEXPECTED_ANSWER', `The server answered ${status} without saying why.`, {
      status,
      requestId,
    });
  }
  const { code, message, details, requestId: named } = parsed.data.error;
  return new HoldfastError(code, message, { status, details, requestId: named ?? requestId });
}

async function readJson(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch {
    return undefined;
  }
}
