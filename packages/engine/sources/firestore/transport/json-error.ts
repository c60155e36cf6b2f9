/** Errors as Google's REST interface tells them: `{"error": {"code", "message", "status"}}`, also as an array's element. */

import { GrpcError, grpcCodeNamed } from './status.ts';

/** A refusal in the interface's own words; whatever else goes wrong may be the doing of somebody in between. */
export class RestError extends GrpcError {}

/** The error that a JSON value tells of; undefined when it tells of none. */
export function restErrorOf(value: unknown): RestError | undefined {
  const body = fieldOf(Array.isArray(value) ? value[0] : value, 'error');
  const code = grpcCodeNamed(fieldOf(body, 'status'));
  return code === undefined ? undefined : new RestError(code, String(fieldOf(body, 'message') ?? ''));
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
