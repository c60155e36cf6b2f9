import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { minuteMs } from '../../time/durations.ts';
import { AttemptError } from '../attempt.ts';
import type { StoreNetwork } from '../network.ts';

const connectTimeoutMs = 10_000;
const idleTimeoutMs = minuteMs;

export interface HttpCall {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  origin: URL;
  /** Path and query as they go over the wire: an address that is parsed again could fold `..`. */
  path: string;
  headers: OutgoingHttpHeaders;
  body?: readonly Uint8Array[];
  signal: AbortSignal;
}

/** A request that got no answer, and from whom: tokens come from another host than objects do. */
export class UnansweredError extends Error {
  readonly host: string;

  constructor(host: string, cause: Error) {
    super(cause.message, { cause });
    this.host = host;
  }
}

/** One request over the guarded connections. Redirects are answers like any other: nobody follows them. */
export function send(network: StoreNetwork, call: HttpCall): Promise<IncomingMessage> {
  const { origin, method, path, headers, body = [], signal } = call;
  const isSecure = origin.protocol === 'https:';
  return new Promise((resolve, reject) => {
    const request = (isSecure ? httpsRequest : httpRequest)({
      method,
      path,
      signal,
      hostname: origin.hostname.replace(/^\[(.*)\]$/, '$1'),
      ...(origin.port === '' ? {} : { port: Number(origin.port) }),
      headers: { ...headers, ...(method === 'GET' ? {} : { 'content-length': bytesOf(body) }) },
      agent: isSecure ? network.httpsAgent : network.httpAgent,
      timeout: idleTimeoutMs,
    });
    request.on('response', resolve);
    request.on('error', (error) => reject(new UnansweredError(origin.hostname, error)));
    request.on('timeout', () => request.destroy(late(`no byte for ${idleTimeoutMs} ms`)));
    request.on('socket', (socket) => {
      if (!socket.connecting) return;
      const timer = setTimeout(() => request.destroy(late('no connection in time')), connectTimeoutMs);
      const isDone = () => clearTimeout(timer);
      socket.once('connect', isDone).once('close', isDone);
    });
    for (const piece of body) request.write(piece);
    request.end();
  });
}

function late(message: string): Error {
  return Object.assign(new Error(message), { code: 'ETIMEDOUT' });
}

function bytesOf(body: readonly Uint8Array[]): number {
  return body.reduce((sum, piece) => sum + piece.length, 0);
}

/** Larger than any page of a thousand names, however long and however they are escaped. */
const documentBytesMax = 4 * 1024 * 1024;

/** Reads a document to its end, within a limit. */
export async function readDocument(answer: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  try {
    for await (const piece of answer as AsyncIterable<Buffer>) {
      length += piece.length;
      if (length > documentBytesMax)
        throw new AttemptError(
          'STORAGE_UNAVAILABLE',
          `The storage answered with a document of more than ${documentBytesMax} bytes.`,
        );
      pieces.push(piece);
    }
  } finally {
    if (!answer.complete) answer.destroy();
  }
  return Buffer.concat(pieces).toString('utf8');
}
