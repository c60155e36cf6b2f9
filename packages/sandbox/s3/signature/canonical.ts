import { createHash, createHmac } from 'node:crypto';

export interface SignedRequest {
  method: string;
  /** As received, still percent-encoded, without the query. */
  rawPath: string;
  query: readonly (readonly [string, string])[];
  headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface CredentialScope {
  accessKeyId: string;
  date: string;
  region: string;
}

export function sha256Hex(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}

export function hmac(key: string | Buffer, data: string): Buffer {
  return createHmac('sha256', key).update(data).digest();
}

const signingKeysMax = 1000;
const signingKeys = new Map<string, Buffer>();

/** The same all day for each region and secret, and needed for every request, so it is cached. */
export function signingKey(secretAccessKey: string, scope: CredentialScope): Buffer {
  const name = JSON.stringify([secretAccessKey, scope.date, scope.region]);
  const known = signingKeys.get(name);
  if (known) return known;
  if (signingKeys.size >= signingKeysMax) signingKeys.clear();
  const key = hmac(hmac(hmac(hmac(`AWS4${secretAccessKey}`, scope.date), scope.region), 's3'), 'aws4_request');
  signingKeys.set(name, key);
  return key;
}

export function scopeText(scope: CredentialScope): string {
  return `${scope.date}/${scope.region}/s3/aws4_request`;
}

/** Percent-encodes everything but the unreserved characters, as the signature's specification requires. */
export function encodeUri(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

export function canonicalRequest(
  request: SignedRequest,
  signedHeaders: readonly string[],
  payloadHash: string,
  ignoredQuery?: string,
): string {
  const path = request.rawPath.split('/').map((segment) => encodeUri(decodeURIComponent(segment)));
  const query = request.query
    .filter(([name]) => name !== ignoredQuery)
    .map(([name, value]) => [encodeUri(name), encodeUri(value)] as const)
    .sort(([a, valueA], [b, valueB]) => compare(a, b) || compare(valueA, valueB))
    .map(([name, value]) => `${name}=${value}`);
  const headers = signedHeaders.map((name) => `${name}:${headerText(request.headers[name])}\n`);
  return [request.method, path.join('/'), query.join('&'), headers.join(''), signedHeaders.join(';'), payloadHash].join(
    '\n',
  );
}

export function stringToSign(amzDate: string, scope: CredentialScope, canonical: string): string {
  return `AWS4-HMAC-SHA256\n${amzDate}\n${scopeText(scope)}\n${sha256Hex(canonical)}`;
}

function headerText(value: string | string[] | undefined): string {
  const text = Array.isArray(value) ? value.join(',') : (value ?? '');
  return text.trim().replace(/ +/g, ' ');
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
