import type { Operation } from '@holdfast/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '../platform/problem.ts';
import { sendProblem } from './errors.ts';

/** Answers requests without a route: another method of a known path, a path of the old API, or an unknown path. */
export function createNotFound(operations: readonly Operation[]) {
  const methodsByPath = new Map<string, { pattern: RegExp; methods: Set<string> }>();
  for (const operation of operations) {
    const entry = methodsByPath.get(operation.path) ?? { pattern: pathPattern(operation), methods: new Set<string>() };
    entry.methods.add(operation.method);
    if (operation.method === 'GET' && operation.success.kind !== 'redirect') entry.methods.add('HEAD');
    methodsByPath.set(operation.path, entry);
  }
  return (request: FastifyRequest, reply: FastifyReply) => {
    const path = (request.url.split('?')[0] ?? '').replace(/(.)\/$/, '$1');
    const methods = new Set(
      [...methodsByPath.values()].flatMap((entry) => (entry.pattern.test(path) ? [...entry.methods] : [])),
    );
    // Pages are not operations: the dashboard and the readable documentation.
    for (const method of ['GET', 'HEAD'] as const)
      if (request.server.hasRoute({ method, url: path })) methods.add(method);
    if (methods.size > 0) return sendMethodNotAllowed(request, reply, [...methods]);
    if (/^\/api\/(?!v\d+(\/|$))/.test(path)) {
      const bare = path.slice('/api'.length);
      // Some paths have no version, such as the health of the service.
      const moved = methodsByPath.has(bare) ? bare : `/api/v1${bare}`;
      return sendProblem(
        reply,
        new Problem('GONE', `Version 1.x of the API is gone. Use ${moved}.`, { details: { path: moved } }),
      );
    }
    return sendProblem(reply, new Problem('NOT_FOUND', `There is nothing at ${path.slice(0, 200)}.`));
  };
}

function sendMethodNotAllowed(request: FastifyRequest, reply: FastifyReply, methods: string[]): FastifyReply {
  const allow = [...methods, 'OPTIONS'].sort().join(', ');
  reply.header('allow', allow);
  if (request.method === 'OPTIONS') return reply.code(204).send();
  return sendProblem(
    reply,
    new Problem('METHOD_NOT_ALLOWED', `${request.method} is not possible here. Allowed: ${allow}.`),
  );
}

function pathPattern(operation: Operation): RegExp {
  const body = operation.path
    .replace(/[.]/g, '\\.')
    .replace(/\{(\w+)\}/g, (_, name) => (name === operation.restParameter ? '.+' : '[^/]+'));
  return new RegExp(`^${body}$`);
}
