import type { Operation } from './call.ts';
import { notImplemented, S3Error } from './errors.ts';
import { bucketOperations } from './operations/buckets.ts';
import { copyOperations } from './operations/copy.ts';
import { deleteOperations } from './operations/deletes.ts';
import { listOperations } from './operations/lists.ts';
import { lockOperations } from './operations/locks.ts';
import { objectOperations } from './operations/objects.ts';
import { partOperations } from './operations/parts.ts';
import { uploadOperations } from './operations/uploads.ts';

const operations: readonly Operation[] = [
  ...bucketOperations,
  ...objectOperations,
  ...copyOperations,
  ...deleteOperations,
  ...listOperations,
  ...uploadOperations,
  ...partOperations,
  ...lockOperations,
];

/** The target of a request: none, a bucket, or a key. */
export interface Address {
  rawPath: string;
  bucketName: string;
  key: string;
  query: [string, string][];
}

/** Understands `/bucket/key` and, for hosts below one of the suffixes, `bucket.suffix/key`. */
export function parseAddress(url: string, host: string, hostSuffixes: readonly string[]): Address {
  const mark = url.indexOf('?');
  const rawPath = mark === -1 ? url : url.slice(0, mark);
  const hostname = host.replace(/:\d+$/, '').toLowerCase();
  const suffix = hostSuffixes.find((one) => hostname.endsWith(`.${one}`));
  const hostBucket = suffix ? hostname.slice(0, -suffix.length - 1) : '';
  try {
    const path = decodeURIComponent(rawPath.slice(1));
    const query = mark === -1 ? [] : parseQuery(url.slice(mark + 1));
    if (hostBucket !== '') return { rawPath, bucketName: hostBucket, key: path, query };
    const slash = path.indexOf('/');
    if (slash === -1) return { rawPath, bucketName: path, key: '', query };
    return { rawPath, bucketName: path.slice(0, slash), key: path.slice(slash + 1), query };
  } catch {
    throw new S3Error('InvalidURI');
  }
}

function parseQuery(text: string): [string, string][] {
  const decode = (part: string) => decodeURIComponent(part.replaceAll('+', ' '));
  return text
    .split('&')
    .filter(Boolean)
    .map((pair) => {
      const equals = pair.indexOf('=');
      return equals === -1 ? [decode(pair), ''] : [decode(pair.slice(0, equals)), decode(pair.slice(equals + 1))];
    });
}

/** The most specific operation whose marks are all present. */
export function findOperation(method: string, address: Address, headers: Readonly<Record<string, unknown>>): Operation {
  const level = address.bucketName === '' ? 'service' : address.key === '' ? 'bucket' : 'object';
  const names = new Set(address.query.map(([name]) => name));
  const candidates = operations.filter(
    (one) =>
      one.method === method &&
      one.level === level &&
      (one.marks ?? []).every((mark) => names.has(mark)) &&
      (one.markHeader === undefined || headers[one.markHeader] !== undefined),
  );
  const weight = (one: Operation) => (one.marks?.length ?? 0) * 2 + (one.markHeader ? 1 : 0);
  const [best] = candidates.sort((a, b) => weight(b) - weight(a));
  if (!best) throw notImplemented(`${method} on a ${level}${names.size > 0 ? ` with ?${[...names].join('&')}` : ''}`);
  return best;
}
