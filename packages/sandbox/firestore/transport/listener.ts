import { createServer as createHttp1Server, type IncomingMessage, type ServerResponse } from 'node:http';
import {
  createServer as createHttp2Server,
  Http2ServerRequest,
  Http2ServerResponse,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { type AddressInfo, createServer, type Socket } from 'node:net';

const windowBytes = 16 * 1024 * 1024;
const sessionMemoryMb = 2048;
const streamResetsMax = 1_000_000;
const preface = 'PRI * HTTP/2';

export interface ListenerOptions {
  readonly host: string;
  readonly port: number;
  /** gRPC. */
  onStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void;
  /** Everything else, over either version of HTTP. */
  onRequest(request: IncomingMessage | Http2ServerRequest, response: ServerResponse | Http2ServerResponse): void;
}

export interface Listener {
  readonly host: string;
  readonly port: number;
  stop(): Promise<void>;
}

/**
 * Listens for both HTTP/2 without TLS (gRPC and REST) and HTTP/1.1 (REST) on one port, as the official emulator does:
 * the first bytes of a connection show which one it is.
 */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const sockets = new Set<Socket>();
  const http1 = createHttp1Server((request, response) => options.onRequest(request, response));
  const http2 = createHttp2Server({
    // Node's defaults protect servers on the open internet; here one connection may well carry a hundred full scans,
    // and a test may cancel a thousand streams in a row.
    maxSessionMemory: sessionMemoryMb,
    streamResetBurst: streamResetsMax,
    streamResetRate: streamResetsMax,
    settings: { initialWindowSize: windowBytes, maxConcurrentStreams: 10_000, maxFrameSize: 1024 * 1024 },
  });
  http2.on('session', (session: ServerHttp2Session) => {
    session.setLocalWindowSize(windowBytes);
    session.on('error', () => session.destroy());
  });
  http2.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    // A caller that resets its stream is not our error.
    stream.on('error', () => stream.destroy());
    if (headers['content-type']?.startsWith('application/grpc')) options.onStream(stream, headers);
    else options.onRequest(new Http2ServerRequest(stream, headers, {}, []), new Http2ServerResponse(stream));
  });
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => sockets.delete(socket));
    socket.once('readable', () => {
      const first = socket.read() as Buffer | null;
      if (first === null) return;
      socket.unshift(first);
      const isHttp2 = preface.startsWith(first.toString('latin1', 0, preface.length));
      (isHttp2 ? http2 : http1).emit('connection', socket);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    host: options.host,
    port,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
