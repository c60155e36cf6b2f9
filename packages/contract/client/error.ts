import type { ErrorCode } from '../errors.ts';

/**
 * Also covers a missing answer, or one that is not the service's. A newer service may use codes that this client does
 * not know.
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

export async function errorFrom(response: Response): Promise<HoldfastError> {
  const { status } = response;
  const requestId = response.headers.get('x-request-id') ?? undefined;
  const error = errorIn(await readJson(response));
  if (error === undefined) {
    return new HoldfastError('UNEXPECTED_ANSWER', `The server answered ${status} without saying why.`, {
      status,
      requestId,
    });
  }
  const { code, message, details, requestId: named } = error;
  return new HoldfastError(code, message, { status, details, requestId: named ?? requestId });
}

interface ErrorBody {
  readonly code: string;
  readonly message: string;
  readonly details?: Record<string, unknown>;
  readonly requestId?: string;
}

/** Checked by hand: in a browser a schema library would be the larger part of the client. */
function errorIn(body: unknown): ErrorBody | undefined {
  if (!isRecord(body) || !isRecord(body.error)) return undefined;
  const { code, message, details, requestId } = body.error;
  if (typeof code !== 'string' || typeof message !== 'string') return undefined;
  return { code, message, ...(isRecord(details) && { details }), ...(typeof requestId === 'string' && { requestId }) };
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

async function readJson(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch {
    return undefined;
  }
}
