import type { EventPayload } from '../../../platform/event-payload.ts';
import { version } from '../../../version.ts';
import { automaticAttempts } from '../sending/retry-policy.ts';
import { hexSignature, standardSignature } from './signing.ts';

/** What a request is made from. */
export interface RequestFacts {
  event: { id: string; type: string; createdAt: Date; payload: EventPayload };
  webhook: {
    id: string;
    url: string;
    format: 'standard' | 'simple';
    retryEnabled: boolean;
    headers: Record<string, string>;
    secret: string | null;
    /** Former secrets that still sign, the latest first. */
    formerSecrets: readonly string[];
  };
  deliveryId: string;
  /** 1 on the first attempt. */
  attempt: number;
  now: Date;
}

export interface RenderedRequest {
  url: string;
  headers: Record<string, string>;
  body: string;
}

/** The one place where both formats are written. */
export function renderRequest(facts: RequestFacts): RenderedRequest {
  const { webhook } = facts;
  const own = { 'Content-Type': 'application/json', 'User-Agent': `Holdfast-Webhooks/${version}` };
  const body = webhook.format === 'standard' ? standardBody(facts) : simpleBody(facts);
  const signed = webhook.format === 'standard' ? standardHeaders(facts, body) : simpleHeaders(facts, body);
  return { url: webhook.url, headers: { ...webhook.headers, ...own, ...signed }, body };
}

/** Whether the webhook's current secret signed a request; null for an unsigned one. */
export function signedWith({ headers, body }: RenderedRequest, secret: string | null): 'current' | 'former' | null {
  const standard = headers['X-Service-Signature'];
  const signature = standard ?? headers['X-Webhook-Signature'];
  if (signature === undefined) return null;
  const message = standard === undefined ? body : `${headers['X-Service-Timestamp']}.${body}`;
  return secret !== null && signature === hexSignature(secret, message) ? 'current' : 'former';
}

function standardBody({ event, webhook, deliveryId, attempt }: RequestFacts): string {
  const maxAttempts = automaticAttempts(webhook);
  const onFailure = event.type.endsWith('.failed') ? { maxAttempts, willRetry: attempt < maxAttempts } : {};
  return JSON.stringify({
    id: event.id,
    type: event.type,
    timestamp: event.createdAt.toISOString(),
    data: event.payload.data,
    metadata: { ...event.payload.metadata, attempt, deliveryId, ...onFailure },
  });
}

function standardHeaders({ webhook, deliveryId, now }: RequestFacts, body: string): Record<string, string> {
  const { secret, formerSecrets } = webhook;
  const timestamp = String(Math.floor(now.getTime() / 1000));
  const headers: Record<string, string> = {
    'X-Service-Timestamp': timestamp,
    'X-Service-Delivery-Id': deliveryId,
    'webhook-id': deliveryId,
    'webhook-timestamp': timestamp,
  };
  if (secret === null) return headers;
  headers['X-Service-Signature'] = hexSignature(secret, `${timestamp}.${body}`);
  headers['webhook-signature'] = [secret, ...formerSecrets]
    .map((key) => standardSignature(key, `${deliveryId}.${timestamp}.${body}`))
    .join(' ');
  return { ...headers, ...formerSignatures('X-Service-Signature', formerSecrets, `${timestamp}.${body}`) };
}

/** One header per former secret: receivers that compare a whole header with one signature keep working. */
function formerSignatures(name: string, secrets: readonly string[], message: string): Record<string, string> {
  return Object.fromEntries(
    secrets.map((secret, index) => [
      `${name}-Previous${index === 0 ? '' : `-${index + 1}`}`,
      hexSignature(secret, message),
    ]),
  );
}

function simpleBody({ event }: RequestFacts): string {
  return JSON.stringify({
    event: event.type,
    timestamp: event.createdAt.toISOString(),
    data: event.payload.simple,
  });
}

function simpleHeaders({ event, webhook }: RequestFacts, body: string): Record<string, string> {
  return {
    'X-Webhook-Event': event.type,
    'X-Webhook-Timestamp': event.createdAt.toISOString(),
    'X-Webhook-Id': webhook.id,
    ...(webhook.secret === null ? {} : { 'X-Webhook-Signature': hexSignature(webhook.secret, body) }),
    ...formerSignatures('X-Webhook-Signature', webhook.formerSecrets, body),
  };
}
