/** gRPC's status codes, the error with such a code, and which codes are transient. */

export const grpcCode = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

const codeNames = Object.entries(grpcCode);

export function grpcCodeName(code: number): string {
  return codeNames.find((entry) => entry[1] === code)?.[0] ?? `CODE_${code}`;
}

/** The code for a name that REST uses; undefined for an unknown name. */
export function grpcCodeNamed(name: unknown): number | undefined {
  return codeNames.find((entry) => entry[0] === name)?.[1];
}

/** CANCELLED too: our own cancellations are known from the caller's signal, so this one came from the server. */
const retryableCodes: ReadonlySet<number> = new Set([
  grpcCode.CANCELLED,
  grpcCode.UNKNOWN,
  grpcCode.DEADLINE_EXCEEDED,
  grpcCode.RESOURCE_EXHAUSTED,
  grpcCode.ABORTED,
  grpcCode.INTERNAL,
  grpcCode.UNAVAILABLE,
]);

export class GrpcError extends Error {
  readonly code: number;

  constructor(code: number, message: string, options: { cause?: unknown } = {}) {
    super(`${grpcCodeName(code)}: ${message}`, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'GrpcError';
    this.code = code;
  }
}

export function isTransient(error: unknown): boolean {
  return error instanceof GrpcError && retryableCodes.has(error.code);
}

/** A proxy or a broken server responds without gRPC trailers; gRPC itself prescribes this mapping. */
export function codeOfHttpStatus(status: number): number {
  if (status === 400) return grpcCode.INTERNAL;
  if (status === 401) return grpcCode.UNAUTHENTICATED;
  if (status === 403) return grpcCode.PERMISSION_DENIED;
  if (status === 404) return grpcCode.UNIMPLEMENTED;
  if (status === 429 || status === 502 || status === 503 || status === 504) return grpcCode.UNAVAILABLE;
  return grpcCode.UNKNOWN;
}
