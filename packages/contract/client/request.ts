import type { Operation } from '../operation.ts';
import { fillPath } from '../path.ts';

/** A caller's input for any operation; the client's types narrow it for each one. */
export interface AnyInput {
  readonly params?: Readonly<Record<string, string>> | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly body?: unknown;
  readonly organizationId?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly ifMatch?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

function queryString(query: Readonly<Record<string, unknown>>): string {
  const pairs = Object.entries(query).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`;
}

export function urlOf(baseUrl: string, operation: Operation, input: AnyInput): string {
  return `${baseUrl.replace(/\/+$/, '')}${fillPath(operation, input.params ?? {})}${queryString(input.query ?? {})}`;
}

/** Also works in pages without HTTPS, where `randomUUID` does not exist. */
export function newIdempotencyKey(): string {
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export function headersOf(operation: Operation, input: AnyInput, token: string | undefined): Record<string, string> {
  const headers: Record<string, string> = { accept: 'application/json' };
  if (operation.success.kind === 'stream') headers.accept = operation.success.contentTypes.join(', ');
  if (token && operation.access.kind !== 'public') headers.authorization = `Bearer ${token}`;
  if (input.organizationId && operation.access.kind === 'organization')
    headers['x-organization-id'] = input.organizationId;
  if (input.idempotencyKey) headers['idempotency-key'] = input.idempotencyKey;
  if (input.ifMatch) headers['if-match'] = input.ifMatch;
  if (input.body !== undefined) headers['content-type'] = 'application/json';
  return headers;
}
