/** The gRPC status codes, by the names their users know them under. */
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

export type CodeName = keyof typeof grpcCode;

/** An error for the caller: the call ends with this status. Anything else thrown is a defect of the sandbox. */
export class RpcError extends Error {
  readonly codeName: CodeName;

  constructor(codeName: CodeName, message: string) {
    super(message);
    this.name = 'RpcError';
    this.codeName = codeName;
  }

  get code(): number {
    return grpcCode[this.codeName];
  }
}

export function invalid(message: string): RpcError {
  return new RpcError('INVALID_ARGUMENT', message);
}

export function asRpcError(error: unknown): RpcError {
  if (error instanceof RpcError) return error;
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new RpcError('INTERNAL', `Sandbox defect: ${text}`);
}
