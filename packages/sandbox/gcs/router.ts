import { bucketOperations } from './buckets.ts';
import type { Operation } from './call.ts';
import { copyOperations } from './copies.ts';
import { GcsError, notImplemented } from './errors.ts';
import { objectOperations } from './objects.ts';
import { uploadOperations } from './uploads.ts';

const operations = [...bucketOperations, ...objectOperations, ...copyOperations, ...uploadOperations].map(
  (operation) => ({
    operation,
    pattern: new RegExp(`^${operation.path.replaceAll('*', '([^/]+)')}$`),
  }),
);

export interface Route {
  operation: Operation;
  names: string[];
  query: Map<string, string>;
}

/** Object names hold encoded slashes, so the path is split before it is decoded. */
export function findRoute(method: string, url: string): Route {
  const mark = url.indexOf('?');
  const path = mark === -1 ? url : url.slice(0, mark);
  const query = new Map(new URLSearchParams(mark === -1 ? '' : url.slice(mark + 1)));
  for (const { operation, pattern } of operations) {
    const match = operation.method === method ? pattern.exec(path) : null;
    if (!match || (operation.when && query.get(operation.when[0]) !== operation.when[1])) continue;
    try {
      return { operation, query, names: match.slice(1).map((name) => decodeURIComponent(name)) };
    } catch {
      throw new GcsError('invalid', 'The path is not well-formed.');
    }
  }
  throw notImplemented(`${method} ${path}`);
}
