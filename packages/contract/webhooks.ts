import type { z } from 'zod';
import type { standardEnvelope } from './events/standard.ts';

export type WebhookEvent = z.infer<typeof standardEnvelope>;

export interface ReceivedWebhook {
  /** The secret that was shown once when the webhook was made. */
  readonly secret: string;
  /** The request's headers: those of Node, of Express, or a `Headers`. */
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The raw body, before it is parsed. */
  readonly body: string;
}

const signatureHeader = 'x-service-signature';
const toleranceSeconds = 300;
const millisecondsPerSecond = 1000;

/**
 * The event of a delivery in the standard format. Undefined when it was not signed with the secret within the last five
 * minutes: answer 401 then. A delivery may arrive more than once, always with the same `metadata.deliveryId`.
 */
export async function verifyWebhook({ secret, headers, body }: ReceivedWebhook): Promise<WebhookEvent | undefined> {
  // Everybody knows the empty key, so anybody could forge a signature with it.
  if (secret === '') throw new TypeError('The secret of the webhook is empty.');
  const given = lowerCased(headers);
  const timestamp = given.get('x-service-timestamp') ?? '';
  const ageSeconds = Math.abs(Date.now() / millisecondsPerSecond - Number(timestamp));
  if (timestamp === '' || !(ageSeconds <= toleranceSeconds)) return undefined;
  const key = await importKey(secret);
  const message = new TextEncoder().encode(`${timestamp}.${body}`);
  for (const [name, value] of given) {
    // For a day after a rotation, former secrets sign too, in headers that begin with the same name.
    const signature = name.startsWith(signatureHeader) ? bytesOf(value) : undefined;
    if (signature !== undefined && (await crypto.subtle.verify('HMAC', key, signature, message)))
      // Not validated: a service that is newer than this package may send unknown fields and events.
      return JSON.parse(body) as WebhookEvent;
  }
  return undefined;
}

function importKey(secret: string) {
  const bytes = new TextEncoder().encode(secret);
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

function lowerCased(headers: ReceivedWebhook['headers']): Map<string, string> {
  const pairs = headers instanceof Headers ? [...headers] : Object.entries(headers);
  return new Map(pairs.map(([name, value]) => [name.toLowerCase(), String(value ?? '')]));
}

function bytesOf(signature: string): Uint8Array<ArrayBuffer> | undefined {
  const [, hex] = /^sha256=([0-9a-f]{64})$/.exec(signature) ?? [];
  return hex === undefined ? undefined : Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}
