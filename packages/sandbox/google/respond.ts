/** Common forms of all Google REST APIs: error bodies, paging, bodies. */

import type { IncomingMessage, ServerResponse } from 'node:http';

const bodyBytesMax = 10 * 1024 * 1024;

/** An error in the form `{"error": {code, message, status}}`. */
export class GoogleError extends Error {
  readonly code: number;
  readonly status: string;

  constructor(code: number, status: string, message: string) {
    super(message);
    this.code = code;
    this.status = status;
  }

  body(): unknown {
    const errors = [{ message: this.message, domain: 'global', reason: reasonOf(this.code) }];
    return { error: { code: this.code, message: this.message, status: this.status, errors } };
  }
}

/** An error of the OAuth endpoints: `{"error": "invalid_grant", "error_description": …}`. */
export class OAuthError extends Error {
  readonly code: number;
  readonly error: string;

  constructor(error: string, description: string, code = 400) {
    super(description);
    this.error = error;
    this.code = code;
  }

  body(): unknown {
    return { error: this.error, error_description: this.message };
  }
}

export function unauthenticated(): GoogleError {
  return new GoogleError(
    401,
    'UNAUTHENTICATED',
    'Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.',
  );
}

export function permissionDenied(): GoogleError {
  return new GoogleError(403, 'PERMISSION_DENIED', 'The caller does not have permission');
}

export function invalidArgument(message: string): GoogleError {
  return new GoogleError(400, 'INVALID_ARGUMENT', message);
}

function reasonOf(code: number): string {
  const reasons: Record<number, string> = {
    401: 'authError',
    403: 'forbidden',
    404: 'notFound',
    429: 'rateLimitExceeded',
  };
  return reasons[code] ?? (code >= 500 ? 'backendError' : 'invalid');
}

export function sendJson(response: ServerResponse, code: number, body: unknown): void {
  const text = JSON.stringify(body, undefined, 2);
  response.writeHead(code, { 'content-type': 'application/json; charset=UTF-8', 'cache-control': 'no-store' });
  response.end(text);
}

export async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) throw invalidArgument('Request payload size exceeds the limit: 10485760 bytes.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

export function parseJsonObject(text: string): Record<string, unknown> {
  if (text === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Both kinds of malformed body get Google's one answer below.
  }
  throw invalidArgument('Invalid JSON payload received. Parsing terminated before end of input.');
}

/** Page tokens are offsets; a token that was never issued is refused. */
export function page<Item>(
  items: readonly Item[],
  sizeText: string | null | undefined,
  token: string | null | undefined,
  sizeMax: number,
): { items: Item[]; nextPageToken: string | undefined } {
  const asked = sizeText ? Number(sizeText) : sizeMax;
  if (!Number.isInteger(asked) || asked < 0) throw invalidArgument('page_size must be a non-negative integer.');
  const size = Math.min(asked === 0 ? sizeMax : asked, sizeMax);
  const offset = token
    ? Number(
        Buffer.from(token, 'base64url')
          .toString('latin1')
          .replace(/^offset:/, ''),
      )
    : 0;
  if (!Number.isInteger(offset) || offset < 0) throw invalidArgument('Request contains an invalid argument.');
  const next = offset + size < items.length ? Buffer.from(`offset:${offset + size}`).toString('base64url') : undefined;
  return { items: items.slice(offset, offset + size), nextPageToken: next };
}
