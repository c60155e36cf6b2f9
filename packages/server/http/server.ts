import fastifyCookie from '@fastify/cookie';
import { allOperations } from '@holdfast/contract';
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { minuteMs } from '../platform/durations.ts';
import type { Ids } from '../platform/ids.ts';
import { lazyChild } from '../platform/log.ts';
import { Problem } from '../platform/problem.ts';
import type { AnyHandler, Handlers } from './call.ts';
import { errorBody, problemOf, sendProblem } from './errors.ts';
import { IdempotencyStore } from './idempotency.ts';
import { parseJsonOnly } from './json-body.ts';
import { createNotFound } from './not-found.ts';
import type { HttpOptions } from './options.ts';
import { serveOperation } from './serve-operation.ts';
import { cutOffUnreadAnswers, OpenStreams } from './streams.ts';
import { traceRequests } from './trace-requests.ts';
import { UnreadAnswerLimit } from './unread-answer-limit.ts';

const bodyBytesMax = 1024 * 1024;
const headerBytesMax = 32 * 1024;
const requestIdPattern = /^[A-Za-z0-9_.~-]{1,128}$/;

/** The public API: every operation of the contract that has a handler, through one pipeline. */
export async function createHttpServer(options: HttpOptions): Promise<FastifyInstance> {
  const app = fastify({
    loggerInstance: options.log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: (_logger, bindings) => lazyChild(options.log, bindings) as FastifyBaseLogger,
    bodyLimit: bodyBytesMax,
    trustProxy: typeof options.trustProxy === 'number' ? trustHops(options.trustProxy) : options.trustProxy,
    genReqId: (request) => requestId(request.headers['x-request-id'], options.ids),
    routerOptions: { maxParamLength: 8192, ignoreTrailingSlash: true },
    http: {
      maxHeaderSize: headerBytesMax,
      headersTimeout: options.headersMsMax,
      connectionsCheckingInterval: options.headersMsMax / 4,
    },
    requestTimeout: 2 * minuteMs,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => {
      setStandardHeaders(request, reply, options.publicOrigin());
      sendProblem(reply, problemOf(error, request));
    },
    clientErrorHandler: (error, socket) => answerBrokenRequest(error, socket, options.ids),
  });
  app.decorateRequest('principal', null);
  app.decorateRequest('organization', null);
  app.decorateRequest('foreignOrganizationId', null);
  app.decorateRequest('problemCode', null);
  if (options.isTraced) traceRequests(app);
  await app.register(fastifyCookie);
  parseJsonOnly(app);
  app.addHook('onRequest', async (request, reply) => setStandardHeaders(request, reply, options.publicOrigin()));
  countCalls(app, options);
  cutOffUnreadAnswers(app, options.streamLimits.unreadMsMax);
  app.addHook('onSend', async (_request, reply) => {
    if (options.stopping.aborted) reply.header('connection', 'close');
  });
  app.addHook('onResponse', async (request, reply) => report(request, reply, options));
  app.setErrorHandler((error: unknown, request, reply) => sendProblem(reply, problemOf(error, request)));
  const idempotency = new IdempotencyStore(options.database, options.clock);
  const streams = new OpenStreams(options.streamLimits);
  const answers = new UnreadAnswerLimit();
  for (const operation of allOperations) {
    const handler = options.handlers[operation.id as keyof Handlers] as AnyHandler | undefined;
    if (handler) serveOperation(app, operation, handler, { ...options, idempotency, streams, answers });
  }
  app.setNotFoundHandler(createNotFound(allOperations.filter(({ id }) => options.handlers[id as keyof Handlers])));
  return app;
}

/** A call no longer counts once its streamed answer has begun, or its caller has hung up. */
function countCalls(app: FastifyInstance, { calls }: HttpOptions): void {
  const waiting = new WeakSet<FastifyRequest>();
  const end = (request: FastifyRequest) => {
    if (waiting.delete(request)) calls.callEnded();
  };
  app.addHook('onRequest', async (request, reply) => {
    waiting.add(request);
    calls.callBegan();
    reply.raw.once('close', () => end(request));
  });
  app.addHook('onSend', async (request) => end(request));
}

function trustHops(hops: number) {
  return (_address: string, hop: number) => hop < hops;
}

function requestId(given: string | string[] | undefined, ids: Ids): string {
  return typeof given === 'string' && requestIdPattern.test(given) ? given : ids.next('req');
}

/** Pages of other origins may not read the API's answers. */
function setStandardHeaders(request: FastifyRequest, reply: FastifyReply, publicOrigin: string): void {
  reply.header('access-control-allow-origin', publicOrigin);
  reply.header('x-request-id', request.id);
  reply.header('x-content-type-options', 'nosniff');
  reply.header('cache-control', 'no-store');
  reply.header('referrer-policy', 'no-referrer');
}

function report(request: FastifyRequest, reply: FastifyReply, options: HttpOptions): void {
  const durationMs = reply.elapsedTime;
  const route = request.routeOptions.url ?? 'unmatched';
  options.metrics.observeRequest(request.method, route, reply.statusCode, durationMs);
  const { method, problemCode: code } = request;
  const line = { method, route, status: reply.statusCode, durationMs: Math.round(durationMs) };
  // A refused caller may ask support with the request id, so refusals are logged even if good calls are not.
  if (code === null) request.log.debug(line, 'request');
  else request.log.info({ ...line, code, ip: request.ip }, 'a request was refused or failed');
}

/** A request that cannot be parsed as HTTP still gets the error envelope. */
function answerBrokenRequest(error: Error & { code?: string }, socket: import('node:net').Socket, ids: Ids): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return;
  const tooLarge = error.code === 'HPE_HEADER_OVERFLOW';
  const timedOut = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
  const problem = tooLarge
    ? new Problem('HEADERS_TOO_LARGE', `The request headers are larger than ${headerBytesMax / 1024} KiB.`)
    : new Problem(
        'VALIDATION_ERROR',
        timedOut ? 'The request took too long to arrive.' : 'The request is not valid HTTP.',
        {
          details: { field: 'request', reason: timedOut ? 'took too long to arrive' : 'is not valid HTTP' },
        },
      );
  const id = ids.next('req');
  const body = JSON.stringify(errorBody(problem, id));
  const status = timedOut
    ? '408 Request Timeout'
    : `${problem.status} ${tooLarge ? 'Request Header Fields Too Large' : 'Bad Request'}`;
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\nX-Request-Id: ${id}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
