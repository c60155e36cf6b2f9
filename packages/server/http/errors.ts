import { type ErrorCode, errorDefinition } from '@holdfast/contract';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { outageOf } from '../platform/database/outage.ts';
import { Problem, QuotaUsedUp } from '../platform/problem.ts';
import { setQuotaHeaders } from './rate-limit.ts';

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
  if (problem instanceof QuotaUsedUp) setQuotaHeaders(reply, problem.quota, 0);
  if (problem.retryAfterSeconds !== undefined) reply.header('retry-after', String(problem.retryAfterSeconds));
  return reply
    .code(errorDefinition(problem.code).status)
    .type('application/json; charset=utf-8')
    .send(errorBody(problem, reply.request.id));
}

/** Turns anything thrown into the error that the caller may see. Unexpected errors are only logged. */
export function problemOf(error: unknown, request: FastifyRequest): Problem {
  if (error instanceof Problem) return error;
  const known = fromFramework(error as FastifyError);
  if (known) return known;
  const trouble = outageOf(error);
  if (trouble) {
    request.log.error({ err: error }, 'the database could not be asked');
    const { sentence, retryAfterSeconds } = trouble;
    return new Problem('SERVICE_UNAVAILABLE', sentence, { cause: error, retryAfterSeconds });
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
