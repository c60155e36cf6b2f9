/** One RPC, over gRPC or over REST: its caller, its output, and its one status. */
export interface Call {
  readonly method: string;
  /** The bearer token of the caller, without its scheme; '' when there is none. */
  readonly token: string;
  /** True when nobody reads the answer any more: the caller hung up or the call has ended. */
  readonly closed: boolean;
  readonly bytesSent: number;
  /** The output to the caller; the response headers are sent with its first use. */
  readonly out: MessageOut;
  onClose(listener: () => void): void;
  /** Both settle when everything for the caller was sent. */
  finish(): Promise<void> | void;
  fail(error: unknown): Promise<void> | void;
  /** Breaks the stream without a status, like a lost connection. */
  reset(): void;
}

/** Takes encoded messages and sends them in large chunks, as fast as the caller reads them. */
export interface MessageOut {
  /** Packed, but not handed on yet. */
  readonly pendingBytes: number;
  /** Chunks handed on so far. */
  readonly chunksSent: number;
  readonly congested: boolean;
  /** Appends a message that is one length-delimited field (a document as it is stored) and the rest of the message, already encoded. */
  appendField(tag: number, source: Buffer, start: number, end: number, tail: Uint8Array): void;
  send(message: Uint8Array): void;
  flush(): void;
  /** Resolves once there is room again, or the caller is gone. */
  ready(): Promise<void>;
}

export function bearerToken(authorization: string | undefined): string {
  return (authorization ?? '').replace(/^Bearer +/i, '');
}
