import { type ErrorCode, errorDefinition } from '@holdfast/contract';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { Problem, QuotaUsedUp } from '../platform/problem.ts';
import { tellQuota } from './rate-limit.ts';

export interface ErrorBody {
  success: false;
  error: { code: ErrorCode; message: string; details?: Record<string, unknown>; requestId: string };
}

export function errorBody(problem: Problem, requestId: string): ErrorBody {
  return {
    success: false,
    error: {
      code: problem.code,
      message: problem.message,
      ...(problem.details ? { details: problem.details } : {}),
      requestId,
    },
  };
}

export function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  reply.request.problemCode = problem.code;
  if (problem.code === 'UNAUTHORIZED') reply.header('www-authenticate', 'Bearer');
  if (problem instanceof QuotaUsedUp) tellQuota(reply, problem.quota, 0);
  if (problem.retryAfterSeconds !== undefined) reply.header('retry-after', String(problem.retryAfterSeconds));
  return reply
    .code(errorDefinition(problem.code).status)
    .type('application/json; charset=utf-8')
    .send(errorBody(problem, reply.request.id));
}

/** A restarted PostgreSQL takes calls again after a few seconds. */
const databaseBackSeconds = 5;

/** Whatever was thrown, as the error the caller may see. What is not foreseen is told to the log only. */
export function problemOf(error: unknown, request: FastifyRequest): Problem {
  if (error instanceof Problem) return error;
  const known = fromFramework(error as FastifyError);
  if (known) return known;
  if (isOverload(error)) {
    request.log.error({ err: error }, 'the database could not be reached');
    return new Problem('SERVICE_UNAVAILABLE', 'The service cannot reach its database right now. Try again shortly.', {
      cause: error,
      retryAfterSeconds: databaseBackSeconds,
    });
  }
  request.log.error({ err: error }, 'a request failed unexpectedly');
  return new Problem(
    'INTERNAL_ERROR',
    'Something went wrong on our side. The request id helps to find it in the logs.',
    { cause: error },
  );
}

function fromFramework(error: FastifyError): Problem | undefined {
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Problem('PAYLOAD_TOO_LARGE', 'The body is larger than 1 MiB.');
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_EMPTY_TYPE':
      return new Problem('UNSUPPORTED_MEDIA_TYPE', 'A body must be sent as Content-Type: application/json.');
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return bodyFault('does not have the length its Content-Length says');
    case 'FST_ERR_BAD_URL':
      return new Problem('NOT_FOUND', 'The path is not well formed.');
    default:
      return undefined;
  }
}

export function bodyFault(reason: string): Problem {
  return new Problem('VALIDATION_ERROR', `body: ${reason}`, { details: { field: 'body', reason } });
}

/** Of the network, and of PostgreSQL: shutting down, full, connection lost, a lock or a statement that took too long. */
const unreachableCodes = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE'],
  ...['57P01', '57P02', '57P03', '53300', '08006', '08003', '55P03', '57014', '25P03'],
]);

function isOverload(error: unknown): boolean {
  for (let current = error; current instanceof Error; current = current.cause) {
    const code = (current as NodeJS.ErrnoException).code ?? '';
    if (unreachableCodes.has(code)) return true;
    if (/timeout exceeded when trying to connect|Connection terminated|not queryable/.test(current.message))
      return true;
  }
  return false;
}
