/**
 * Stands before a Firestore and hands gRPC through untouched. What comes back over REST is for the test to say: as the
 * server answered, or as servers, gateways and networks may spoil it.
 */

import {
  type ClientHttp2Session,
  connect,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { onTestFinished } from 'vitest';

export interface RestCallSeen {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  /** How many came before this one. */
  readonly before: number;
  /** What the server behind answers: JSON. */
  answer(): Promise<string>;
}

export interface RestGateway {
  readonly address: string;
  /** Requests over REST so far. */
  readonly asked: number;
}

/** For one test alone. */
export async function startRestGateway(
  upstream: string,
  onRest: (call: RestCallSeen) => void | Promise<void>,
): Promise<RestGateway> {
  const behind = connect(`http://${upstream}`);
  behind.on('error', () => undefined);
  const sessions = new Set<ServerHttp2Session>();
  let asked = 0;
  // Who asked may be gone before the answer is there: what is then written to a closed stream fails nobody's test.
  const answerRest = async (call: RestCallSeen) => {
    try {
      await onRest(call);
    } catch (error) {
      if (!call.stream.destroyed) throw error;
    }
  };
  const server = createServer();
  server.on('session', (session) => sessions.add(session));
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    if (headers['content-type'] === 'application/grpc') handThrough(behind, stream, headers);
    else void answerRest({ stream, headers, before: asked++, answer: () => answerOf(upstream, stream, headers) });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const session of sessions) session.destroy();
    behind.destroy();
    server.close();
  });
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    get asked() {
      return asked;
    },
  };
}

export function respond(
  stream: ServerHttp2Stream,
  status: number,
  headers: Record<string, string>,
  body: string | Buffer,
): void {
  stream.respond({ ':status': status, ...headers });
  stream.end(body);
}

export const packedJson = { 'content-type': 'application/json; charset=UTF-8', 'content-encoding': 'gzip' };

export function respondPacked(stream: ServerHttp2Stream, json: string): void {
  respond(stream, 200, packedJson, gzipSync(json));
}

function handThrough(behind: ClientHttp2Session, stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
  const own = Object.fromEntries(Object.entries(headers).filter(([name]) => name !== ':authority'));
  const call = behind.request(own);
  let trailers: IncomingHttpHeaders = {};
  call.on('error', () => stream.close());
  call.on('response', (answered) => {
    if (stream.destroyed) return;
    // An answer without messages has its status in the headers.
    if (answered['grpc-status'] !== undefined) return stream.respond(answered, { endStream: true });
    stream.respond(answered, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers(trailers));
    call.pipe(stream);
  });
  call.on('trailers', (last) => {
    trailers = last;
  });
  stream.on('close', () => call.close());
  stream.pipe(call);
}

async function answerOf(upstream: string, stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<string> {
  let body = '';
  for await (const chunk of stream.setEncoding('utf8')) body += chunk;
  const own = { authorization: headers.authorization ?? '', 'content-type': 'application/json' };
  const response = await fetch(`http://${upstream}${headers[':path']}`, { method: 'POST', headers: own, body });
  return await response.text();
}
