import { Readable } from 'node:stream';
import type { Operation } from '@holdfast/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { answering } from '../platform/database/database.ts';
import { defined } from '../platform/defined.ts';
import { callerId, type Principal } from '../platform/principal.ts';
import { Problem } from '../platform/problem.ts';
import { type Admission, admit, bearerOf, isStillAdmitted, requireOwnOrigin } from './authentication.ts';
import type { AnyAnswer, AnyCall, AnyHandler } from './call.ts';
import { checkIfMatch, type Resource, requireVersion, resourceOf, tagOf } from './etags.ts';
import {
  type IdempotencyStore,
  type IdempotentRequest,
  readIdempotencyKey,
  requestHash,
  type StoredAnswer,
} from './idempotency.ts';
import type { HttpOptions } from './options.ts';
import { ownLimitOf } from './own-limits.ts';
import { limitRate } from './rate-limit.ts';
import { checkAnswer, renderBody, withoutSecrets } from './render.ts';
import { type CheckedInput, checkRequest } from './request-check.ts';
import { endWhenStopping, type OpenStreams } from './streams.ts';
import type { UnreadAnswerLimit } from './unread-answer-limit.ts';

export interface ServeOptions extends HttpOptions {
  idempotency: IdempotencyStore;
  streams: OpenStreams;
  answers: UnreadAnswerLimit;
}

/** Error codes of refusals, as opposed to mistakes. */
const denials = new Set(['UNAUTHORIZED', 'FORBIDDEN', 'PERMISSION_DENIED']);

/**
 * The one pipeline of every request: rate of the address, admission, rate of the caller, body, validation, idempotency,
 * handler, answer.
 */
export function serveOperation(
  app: FastifyInstance,
  operation: Operation,
  handler: AnyHandler,
  options: ServeOptions,
): void {
  const admissions = new WeakMap<FastifyRequest, Admission>();
  const resource = resourceOf(operation, options.handlers);
  app.route({
    method: operation.method,
    url: routePath(operation),
    // Sign-in links work once; a HEAD from a link preview must not use them up.
    exposeHeadRoute: operation.success.kind !== 'redirect',
    onRequest: async (request, reply) => {
      if (operation.rateLimit === 'auth') {
        await limitRate(options.limiter, [`address:${request.ip}`], options.authRateLimitPerMinute, 'sign-in', reply);
      }
      const admission = await reportingDenials(operation, request, options, () =>
        limitingRefusals(request, reply, options, () =>
          admit(operation, request, options.authenticator, options.publicOrigin),
        ),
      );
      admissions.set(request, admission);
      await limitCaller(operation, request, reply, admission, options);
    },
    handler: async (request, reply) => {
      const input = checkRequest(operation, {
        params: pathParameters(operation, request),
        query: request.query,
        body: request.body,
      });
      const admission = admissions.get(request) as Admission;
      const call = createCall(operation, request, reply, admission, input, options);
      const idempotent = idempotentRequest(operation, request, admission, input);
      const work = async () => {
        if (idempotent) return answerOnce(call, handler, idempotent, reply, options);
        await checkIfMatch(operation, request.headers['if-match'], resource, call);
        const answer = await handler(call);
        return send(operation, await tagged(operation, answer, resource, call), request, reply, options);
      };
      return answering(admission.organization?.id ?? callerOf(request, admission), () =>
        reportingDenials(operation, request, options, work),
      );
    },
  });
}

/** Passes a failure of `work` to `tell`, and rethrows it. */
async function reportingFailure<T>(work: () => Promise<T>, tell: (error: unknown) => Promise<void>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await tell(error);
    throw error;
  }
}

/** A client that tries many credentials soon gets no more answers about them. */
async function limitingRefusals<T>(
  request: FastifyRequest,
  reply: FastifyReply,
  options: ServeOptions,
  work: () => Promise<T>,
): Promise<T> {
  return reportingFailure(work, async (error) => {
    if (isRefusedCredential(error))
      await limitRate(options.limiter, [`refused:${request.ip}`], options.refusedRateLimitPerMinute, 'refused', reply);
  });
}

/** A missing, wrong or foreign credential. An insufficient role or scope belongs to a known caller. */
function isRefusedCredential(error: unknown): boolean {
  if (!(error instanceof Problem)) return false;
  return error.code === 'UNAUTHORIZED' || (error.code === 'FORBIDDEN' && error.details === undefined);
}

/** Logs a refusal in the audit log, whether it came from the permission check or the handler. */
async function reportingDenials<T>(
  operation: Operation,
  request: FastifyRequest,
  options: ServeOptions,
  work: () => Promise<T>,
): Promise<T> {
  return reportingFailure(work, async (error) => {
    if (error instanceof Problem && denials.has(error.code)) await reportDenial(operation, request, error, options);
  });
}

async function reportDenial(
  operation: Operation,
  request: FastifyRequest,
  problem: Problem,
  options: ServeOptions,
): Promise<void> {
  const { principal, organization, foreignOrganizationId } = request;
  const userAgent = request.headers['user-agent']?.slice(0, 500) ?? null;
  try {
    await options.onDenied({
      operation,
      problem,
      principal,
      organization,
      foreignOrganizationId,
      requestId: request.id,
      ip: request.ip,
      userAgent,
    });
  } catch (error) {
    request.log.error({ err: error }, 'a denial could not be audited');
  }
}

async function limitCaller(
  operation: Operation,
  request: FastifyRequest,
  reply: FastifyReply,
  admission: Admission,
  options: ServeOptions,
): Promise<void> {
  const own = ownLimitOf(operation);
  if (own) {
    const whose = own.by === 'organization' ? (admission.organization?.id ?? request.ip) : request.ip;
    await limitRate(options.limiter, [`${operation.id}:${whose}`], own.perMinute, operation.id, reply);
  }
  if (operation.rateLimit === 'none' || operation.rateLimit === 'auth') return;
  const caller = callerOf(request, admission);
  const keys = admission.organization ? [caller, `organization:${admission.organization.id}`] : [caller];
  await limitRate(options.limiter, keys, options.rateLimitPerMinute, 'default', reply);
}

/** Who a call counts for, besides its organization. */
function callerOf(request: FastifyRequest, { principal }: Admission): string {
  return principal.kind === 'anonymous' ? `anonymous:${request.ip}` : `caller:${callerId(principal)}`;
}

function routePath(operation: Operation): string {
  return operation.path.replace(/\{(\w+)\}/g, (_, name) => (name === operation.restParameter ? '*' : `:${name}`));
}

function pathParameters(operation: Operation, request: FastifyRequest): unknown {
  const params = request.params as Record<string, string>;
  if (!operation.restParameter) return params;
  const { '*': rest, ...others } = params;
  return { ...others, [operation.restParameter]: rest };
}

function createCall(
  operation: Operation,
  request: FastifyRequest,
  reply: FastifyReply,
  admission: Admission,
  input: CheckedInput,
  options: ServeOptions,
): AnyCall {
  let signal: AbortSignal | undefined;
  return {
    operation,
    principal: admission.principal,
    organization: admission.organization,
    params: input.params,
    query: input.query,
    body: input.body,
    origin: { requestId: request.id, ip: request.ip, userAgent: request.headers['user-agent']?.slice(0, 500) ?? null },
    get isFromThisMachine() {
      return isFromThisMachine(request);
    },
    isNavigation: request.headers['sec-fetch-mode'] === 'navigate',
    get bearer() {
      return bearerOf(request);
    },
    cookies: request.cookies,
    requireOwnOrigin: () => requireOwnOrigin(request, options.publicOrigin()),
    get signal() {
      signal ??= abortedWhenGone(reply);
      return signal;
    },
    requireMatch: (etag) => requireVersion(request.headers['if-match'], etag),
  };
}

const proxyHeaders = ['x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'forwarded', 'via'];

/** Uses the socket and refuses proxies: headers about the caller can be forged. */
function isFromThisMachine({ raw }: FastifyRequest): boolean {
  if (proxyHeaders.some((name) => raw.headers[name] !== undefined)) return false;
  return /^(::ffff:)?127\.|^::1$/.test(raw.socket.remoteAddress ?? '');
}

/** Listens on the answer and not on the socket: a kept-alive connection would collect listeners. */
function abortedWhenGone(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  const abortUnlessAnswered = () => {
    if (!reply.raw.writableFinished) controller.abort();
  };
  if (reply.raw.closed) abortUnlessAnswered();
  else reply.raw.once('close', abortUnlessAnswered);
  return controller.signal;
}

function idempotentRequest(
  operation: Operation,
  request: FastifyRequest,
  admission: Admission,
  input: CheckedInput,
): IdempotentRequest | undefined {
  if (!operation.idempotencyKey) return undefined;
  const key = readIdempotencyKey(request.headers['idempotency-key']);
  if (key === undefined) return undefined;
  return {
    scope: admission.organization?.id ?? '-',
    caller: callerId(admission.principal),
    key,
    hash: requestHash(operation.id, request.url, input.body),
  };
}

/** Carries the call out unless its answer is stored; stores the answer without the secrets that are shown once. */
async function answerOnce(
  call: AnyCall,
  handler: AnyHandler,
  idempotent: IdempotentRequest,
  reply: FastifyReply,
  options: ServeOptions,
): Promise<FastifyReply> {
  const begun = await options.idempotency.begin(idempotent);
  if (begun.answer) return replay(call.operation, begun.answer, reply);
  call.origin.newId = begun.newId;
  const warn = (message: string) => (failure: unknown) => reply.log.warn({ err: failure }, message);
  const release = options.idempotency.holdWhileRunning(idempotent, warn('an idempotency key could not be held'));
  let answer: AnyAnswer;
  try {
    answer = await handler(call);
  } catch (error) {
    release();
    const isRefused = error instanceof Problem && error.status < 500;
    const free = isRefused ? options.idempotency.forget(idempotent) : options.idempotency.release(idempotent);
    await free.catch(warn('an idempotency key stays locked'));
    throw error;
  }
  // The call has been carried out: whatever fails from here on, its key must not be used for a second execution.
  let keptLater: Promise<void> | undefined;
  try {
    const toKeep = storedAnswer(call.operation, answer);
    await options.idempotency.keep(idempotent, toKeep).catch((failure: unknown) => {
      const warnOfAnswer = warn('an answer could not be kept for its idempotency key');
      warnOfAnswer(failure);
      keptLater = options.idempotency.keepLater(idempotent, toKeep, warnOfAnswer).finally(release);
    });
  } finally {
    if (!keptLater) release();
  }
  return send(call.operation, answer, reply.request, reply, options);
}

function storedAnswer(operation: Operation, answer: AnyAnswer): StoredAnswer {
  if (answer.stream) throw new Error('a stream cannot be stored for replay');
  if (operation.secretAnswer && answer.replayed === undefined) throw new Error('a secret cannot be stored for replay');
  const data = answer.replayed ?? withoutSecrets(answer.data, operation.secretFields);
  return {
    status: answer.status ?? operation.success.status,
    headers: { ...answer.headers, ...(answer.location ? { location: answer.location } : {}) },
    body: renderBody(operation, { ...answer, data }),
  };
}

function replay(operation: Operation, stored: StoredAnswer, reply: FastifyReply): FastifyReply {
  reply.code(stored.status).headers(stored.headers).header('idempotency-replayed', 'true');
  return reply.type(contentTypeOf(operation)).send(stored.body);
}

function contentTypeOf({ success }: Operation): string {
  return (success.kind === 'bare' ? success.contentType : undefined) ?? 'application/json; charset=utf-8';
}

/** A change returns the tag that a read would now show, however little of the resource it answers with. */
async function tagged(
  operation: Operation,
  { etag: version, ...answer }: AnyAnswer,
  resource: Resource | undefined,
  call: AnyCall,
): Promise<AnyAnswer> {
  if (!operation.etag || answer.data === undefined) return answer;
  if (operation.method === 'GET') return { ...answer, etag: tagOf({ ...answer, ...defined({ etag: version }) }) };
  // A moved resource can no longer be read here, but the change is done all the same.
  const etag = await resource?.tag(call).catch(() => undefined);
  return { ...answer, ...defined({ etag }) };
}

/**
 * A stream for HEAD, or for a client that has already left, is destroyed: nobody would read it, and its place would
 * never be freed.
 */
function unreadOf(stream: Readable): Readable {
  stream.destroy();
  return Readable.from([]);
}

/**
 * Whose stream it is. A key's stream counts with all keys of the owner of its organization, separate from the owner's
 * own streams.
 */
function personBehind(principal: Principal | null): string | undefined {
  if (principal?.kind === 'person') return principal.userId;
  return principal?.kind === 'key' && principal.ownerId !== null ? `keys of ${principal.ownerId}` : undefined;
}

async function send(
  operation: Operation,
  answer: AnyAnswer,
  request: FastifyRequest,
  reply: FastifyReply,
  options: ServeOptions,
): Promise<FastifyReply> {
  reply.code(answer.status ?? operation.success.status);
  if (answer.headers) reply.headers(answer.headers);
  if (answer.location) reply.header('location', answer.location);
  for (const cookie of answer.cookies ?? []) reply.setCookie(cookie.name, cookie.value, cookie.options);
  if (operation.etag && answer.etag) {
    reply.header('etag', answer.etag);
    if (
      request.method === 'GET' &&
      request.headers['if-none-match']?.split(',').some((tag) => tag.trim() === answer.etag)
    )
      return reply.code(304).send();
  }
  if (answer.stream) {
    const contentType = answer.contentType ?? 'application/octet-stream';
    if (request.method === 'HEAD' || reply.raw.closed) return reply.type(contentType).send(unreadOf(answer.stream));
    const { principal, organization } = request;
    options.streams.add(
      { organization: organization?.id ?? request.ip, person: personBehind(principal) },
      answer.stream,
      reply.raw,
      async () =>
        principal === null || isStillAdmitted(operation, request, { principal, organization }, options.authenticator),
    );
    if (contentType === 'text/event-stream') endWhenStopping(answer.stream, reply.raw, options.stopping);
    return reply.type(contentType).send(answer.stream);
  }
  if (operation.success.kind === 'redirect') return reply.send();
  if (options.checkAnswers) checkAnswer(operation, answer);
  const body = renderBody(operation, answer);
  // The answer to a change is always sent.
  if (request.method === 'GET') options.answers.add(ownersOf(request), body.length, reply.raw);
  return reply.type(contentTypeOf(operation)).send(body);
}

/** Who an answer's memory counts for: the organization (or else the address) and the person. */
function ownersOf({ organization, principal, ip }: FastifyRequest): string[] {
  return [organization?.id ?? ip, personBehind(principal) ?? []].flat();
}
