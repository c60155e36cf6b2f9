import { readFileSync } from 'node:fs';
import {
  createSecureServer,
  createServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterEach, describe, expect, test } from 'vitest';
import { GrpcChannel } from './channel.ts';
import { emulatorCredentials } from './credentials.ts';
import { frameMessage } from './deframer.ts';
import { grpcCode } from './status.ts';

/** A server that behaves exactly as badly as a test wants. */
type Behaviour = (stream: ServerHttp2Stream, headers: Record<string, unknown>) => void;

const open: { close(): void }[] = [];
afterEach(() => {
  for (const item of open.splice(0)) item.close();
});

async function serve(behaviour: Behaviour, tls?: { key: Buffer; cert: Buffer }) {
  const server: Http2Server = tls === undefined ? createServer() : (createSecureServer(tls) as unknown as Http2Server);
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session) => sessions.add(session));
  server.on('sessionError', () => undefined);
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    behaviour(stream, headers);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const origin = tls === undefined ? `http://127.0.0.1:${port}` : `https://localhost:${port}`;
  const channel = new GrpcChannel({ origin, credentials: emulatorCredentials(), connections: 1 });
  const endSessions = (): void => {
    for (const session of sessions) session.destroy();
  };
  open.push(channel, { close: endSessions }, server);
  return { channel, sessions };
}

const request = Buffer.from('request');
const unary = (channel: GrpcChannel, limits = {}) =>
  channel.unary('/s/M', 'a=b', request, { timeoutMs: 2_000, ...limits });

/** Collects what a streaming call delivers before it ends. */
async function stream(channel: GrpcChannel, limits = {}): Promise<{ messages: string[]; code: number }> {
  const messages: string[] = [];
  return new Promise((resolve, reject) => {
    const handlers = {
      onMessage: (bytes: Buffer, start: number, end: number) => messages.push(bytes.toString('utf8', start, end)),
      onEnd: (error: { code: number } | undefined) => resolve({ messages, code: error?.code ?? 0 }),
    };
    channel.open('/s/M', 'a=b', handlers, limits).then((call) => {
      call.send(request);
      call.halfClose();
    }, reject);
  });
}

function answer(stream: ServerHttp2Stream, messages: readonly string[], trailers: Record<string, string>): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  for (const message of messages) stream.write(frameMessage(Buffer.from(message)));
  stream.end();
}

describe('statuses', () => {
  test('an answer with OK is a result; credentials and routing go along', async () => {
    let seen: Record<string, unknown> = {};
    const { channel } = await serve((served, headers) => {
      seen = headers;
      answer(served, ['hello'], { 'grpc-status': '0' });
    });
    expect((await unary(channel)).toString()).toBe('hello');
    expect(seen).toMatchObject({
      authorization: 'Bearer owner',
      'x-goog-request-params': 'a=b',
      te: 'trailers',
      'grpc-timeout': '2000m',
    });
  });

  test('a status in the trailers or in the headers alone is an error with its decoded message', async () => {
    const late = await serve((served) => answer(served, ['x'], { 'grpc-status': '9', 'grpc-message': 'too%20old' }));
    await expect(unary(late.channel)).rejects.toMatchObject({
      code: grpcCode.FAILED_PRECONDITION,
      message: 'FAILED_PRECONDITION: too old',
    });
    const early = await serve((served) => served.respond({ ':status': 200, 'grpc-status': '7' }, { endStream: true }));
    await expect(unary(early.channel)).rejects.toMatchObject({ code: grpcCode.PERMISSION_DENIED });
  });

  test('HTTP errors, missing statuses and missing answers are never success', async () => {
    const gateway = await serve((served) => served.respond({ ':status': 503 }, { endStream: true }));
    await expect(unary(gateway.channel)).rejects.toMatchObject({ code: grpcCode.UNAVAILABLE });
    const silent = await serve((served) => {
      served.respond({ ':status': 200 });
      served.end(frameMessage(Buffer.from('looks whole')));
    });
    await expect(unary(silent.channel)).rejects.toMatchObject({ code: grpcCode.UNAVAILABLE });
    const empty = await serve((served) => answer(served, [], { 'grpc-status': '0' }));
    await expect(unary(empty.channel)).rejects.toMatchObject({ code: grpcCode.INTERNAL });
  });
});

describe('streams that break', () => {
  test('inside a message: what came whole counts, the rest does not', async () => {
    const { channel } = await serve((served) => {
      served.respond({ ':status': 200 });
      served.write(
        Buffer.concat([frameMessage(Buffer.from('whole')), frameMessage(Buffer.from('half')).subarray(0, 7)]),
      );
      setTimeout(() => served.close(2), 20);
    });
    expect(await stream(channel)).toEqual({ messages: ['whole'], code: grpcCode.UNAVAILABLE });
  });

  test('inside a message, though the server says OK: that is an error', async () => {
    const { channel } = await serve((served) => {
      served.respond({ ':status': 200 }, { waitForTrailers: true });
      served.on('wantTrailers', () => served.sendTrailers({ 'grpc-status': '0' }));
      served.end(frameMessage(Buffer.from('cut short')).subarray(0, 8));
    });
    expect(await stream(channel)).toEqual({ messages: [], code: grpcCode.INTERNAL });
  });

  test('with the whole connection: the next call opens a new one', async () => {
    let calls = 0;
    const { channel, sessions } = await serve((served) => {
      calls += 1;
      if (calls === 1) for (const session of sessions) session.destroy();
      else answer(served, ['again'], { 'grpc-status': '0' });
    });
    await expect(unary(channel)).rejects.toMatchObject({ code: grpcCode.UNAVAILABLE });
    expect((await unary(channel)).toString()).toBe('again');
  });

  test('a connection that is told to go away finishes its calls and takes no new ones', async () => {
    const { channel, sessions } = await serve((served) => {
      if (sessions.size === 1) for (const session of sessions) session.goaway(0);
      setTimeout(() => answer(served, ['done'], { 'grpc-status': '0' }), 600);
    });
    const first = unary(channel);
    await sleep(300);
    expect((await unary(channel)).toString()).toBe('done');
    expect((await first).toString()).toBe('done');
    expect(sessions.size).toBe(2);
  });
});

describe('limits', () => {
  test('a call that takes too long or falls silent is DEADLINE_EXCEEDED, and the server is told', async () => {
    let closed = 0;
    const { channel } = await serve((served) => {
      served.respond({ ':status': 200 });
      served.on('close', () => {
        closed += 1;
      });
    });
    await expect(unary(channel, { timeoutMs: 50 })).rejects.toMatchObject({ code: grpcCode.DEADLINE_EXCEEDED });
    expect(await stream(channel, { idleTimeoutMs: 50 })).toEqual({ messages: [], code: grpcCode.DEADLINE_EXCEEDED });
    await sleep(50);
    expect(closed).toBe(2);
  });

  test('cancelling ends a call at once', async () => {
    const { channel } = await serve((served) => served.respond({ ':status': 200 }));
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 20);
    await expect(unary(channel, { signal: controller.signal })).rejects.toMatchObject({ code: grpcCode.CANCELLED });
    await expect(unary(channel, { signal: controller.signal })).rejects.toMatchObject({ code: grpcCode.CANCELLED });
  });

  test('nobody there is UNAVAILABLE', async () => {
    const channel = new GrpcChannel({ origin: 'http://127.0.0.1:1', credentials: emulatorCredentials() });
    await expect(unary(channel)).rejects.toMatchObject({ code: grpcCode.UNAVAILABLE });
  });
});

test('over TLS the server must prove who it is', async () => {
  const file = (name: string) =>
    readFileSync(new URL(`../../../../server/testing/certificates/${name}`, import.meta.url));
  const tls = { key: file('localhost.key'), cert: file('localhost.pem') };
  const behaviour: Behaviour = (served) => answer(served, ['secret'], { 'grpc-status': '0' });
  const stranger = await serve(behaviour, tls);
  await expect(unary(stranger.channel)).rejects.toMatchObject({ code: grpcCode.UNAVAILABLE });
  const trusted = getCACertificates('default');
  setDefaultCACertificates([...trusted, file('authority.pem').toString()]);
  const known = await serve(behaviour, tls);
  expect((await unary(known.channel)).toString()).toBe('secret');
  setDefaultCACertificates(trusted);
});
