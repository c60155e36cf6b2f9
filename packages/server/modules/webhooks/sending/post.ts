import type { Agent } from 'undici';
import { AddressRefused } from '../../../platform/outbound/address-guard.ts';
import type { RenderedRequest } from '../requests/render-request.ts';
import { type Answer, exchange } from './exchange.ts';

/** How one attempt ended. */
export interface Outcome {
  success: boolean;
  /** Null when no answer came. */
  statusCode: number | null;
  durationMs: number;
  error: string | null;
  responseBody: string | null;
  retryAfter: string | undefined;
  timedOut: boolean;
}

/**
 * Sends one request. The timeout covers everything from dialling to the last byte of the answer. Never throws because
 * of the endpoint.
 */
export async function post(
  agent: Agent,
  rendered: RenderedRequest,
  timeoutMs: number,
  stop?: AbortSignal,
): Promise<Outcome> {
  const startedMs = performance.now();
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), timeoutMs);
  const giveUp = () => deadline.abort();
  stop?.addEventListener('abort', giveUp, { once: true });
  const seen: Answer = { statusCode: null, retryAfter: undefined, chunks: [] };
  let error: string | null = null;
  try {
    await exchange(agent, rendered, deadline.signal, seen);
    error = refusalOf(seen.statusCode as number);
  } catch (failure) {
    error = deadline.signal.aborted ? `No complete answer came within ${timeoutMs} ms.` : describe(failure);
  } finally {
    clearTimeout(timer);
    stop?.removeEventListener('abort', giveUp);
  }
  return {
    success: error === null,
    statusCode: seen.statusCode,
    durationMs: Math.round(performance.now() - startedMs),
    error,
    responseBody: seen.statusCode === null ? null : asText(seen.chunks),
    retryAfter: seen.retryAfter,
    timedOut: deadline.signal.aborted,
  };
}

function refusalOf(statusCode: number): string | null {
  if (statusCode >= 200 && statusCode < 300) return null;
  if (statusCode >= 300 && statusCode < 400) return `The endpoint answered ${statusCode}; redirects are not followed.`;
  return `The endpoint answered ${statusCode}.`;
}

/** Text without null characters, which the database cannot store. */
function asText(chunks: readonly Buffer[]): string {
  return Buffer.concat(chunks).toString('utf8').replaceAll('\u0000', '\uFFFD');
}

const sentences: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The connection was refused.',
  ECONNRESET: 'The connection broke.',
  EPIPE: 'The connection broke.',
  UND_ERR_SOCKET: 'The connection broke.',
  ETIMEDOUT: 'The connection could not be opened in time.',
  UND_ERR_CONNECT_TIMEOUT: 'The connection could not be opened in time.',
  EHOSTUNREACH: 'The host cannot be reached.',
  ENETUNREACH: 'The network cannot be reached.',
  ENOTFOUND: 'The name could not be resolved.',
  ENODATA: 'The name could not be resolved.',
  ESERVFAIL: 'The name could not be resolved.',
  TOO_MANY_INTERIM: 'The endpoint sent interim answers without end.',
  ETIMEOUT: 'The name could not be resolved in time.',
};

function describe(failure: unknown): string {
  if (failure instanceof AddressRefused) return failure.message;
  const code = (failure as NodeJS.ErrnoException).code ?? 'unknown';
  if (sentences[code]) return sentences[code];
  return /CERT|SIGNED|ISSUER|LEAF|TLS/.test(code)
    ? `The certificate of the endpoint is not trusted (${code}).`
    : `The request failed (${code}).`;
}
