import { createHmac, createSecretKey, randomBytes } from 'node:crypto';

const standardPrefix = 'whsec_';
const secretBytes = 32;

/** A secret in the form that Standard Webhooks libraries take. */
export function generateSecret(): string {
  return standardPrefix + randomBytes(secretBytes).toString('base64');
}

/** Shows that there is a secret, and enough of a long one to recognise it. */
export function maskSecret(secret: string): string {
  const prefix = secret.startsWith(standardPrefix) ? standardPrefix : '';
  return `${prefix}********${secret.length >= 20 ? secret.slice(-4) : ''}`;
}

/** `sha256=<hex>`, keyed with the whole secret as UTF-8. */
export function hexSignature(secret: string, message: string): string {
  return `sha256=${createHmac('sha256', secret).update(message, 'utf8').digest('hex')}`;
}

/** `v1,<base64>` of Standard Webhooks. */
export function standardSignature(secret: string, message: string): string {
  return `v1,${createHmac('sha256', createSecretKey(standardKey(secret)))
    .update(message, 'utf8')
    .digest('base64')}`;
}

/** The decoded part after `whsec_`; of any other secret its UTF-8 bytes. */
function standardKey(secret: string): Buffer {
  const decoded = secret.startsWith(standardPrefix)
    ? Buffer.from(secret.slice(standardPrefix.length), 'base64')
    : Buffer.alloc(0);
  return decoded.length > 0 ? decoded : Buffer.from(secret, 'utf8');
}
