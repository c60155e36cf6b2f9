/**
 * Errors in the form of Google's REST interface: `{"error": {"code", "message", "status"}}`, also as an element of an
 * array.
 */

import { GrpcError, grpcCodeNamed } from './status.ts';

/** An error from the interface itself; other errors may come from a proxy in between. */
export class RestError extends GrpcError {}

/** The error in a JSON value; undefined when there is none. */
export function restErrorOf(value: unknown): RestError | undefined {
  const body = fieldOf(Array.isArray(value) ? value[0] : value, 'error');
  const code = grpcCodeNamed(fieldOf(body, 'status'));
  return code === undefined ? undefined : new RestError(code, String(fieldOf(body, 'message') ?? ''));
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
