import { createChecksum } from '../objects/checksum.ts';
import type { Piece } from '../objects/contents.ts';
import { notImplemented, S3Error } from './errors.ts';
import { checksumAlgorithms } from './model.ts';
import { type IncomingPayload, type ReceivedPayload, receiveDocument } from './payload.ts';
import type { Bucket, S3State } from './state.ts';
import { parseXml, type XmlNode } from './xml.ts';

/** A request with a parsed address and a verified signature, for an operation. */
export interface Call {
  state: S3State;
  bucketName: string;
  key: string;
  query: ReadonlyMap<string, string>;
  headers: Readonly<Record<string, string | undefined>>;
  payload: IncomingPayload;
  region: string;
  baseUrl: string;
}

/** The answer as data, so that the server can send it, delay it, damage it or lose it. */
export interface Reply {
  status: number;
  headers?: Record<string, string>;
  xml?: XmlNode;
  /** An object's bytes; the pieces are retained until they were sent. */
  bytes?: { pieces: readonly Piece[]; start: number; end: number };
}

export interface Operation {
  name: string;
  method: string;
  level: 'service' | 'bucket' | 'object';
  /** Query parameters whose presence selects this operation. */
  marks?: readonly string[];
  /** A header whose presence selects this operation over one with the same marks. */
  markHeader?: string;
  /** Other supported query parameters. Any other is refused. */
  query?: readonly string[];
  /** Other supported x-amz-* headers (a trailing `*` is a prefix). Any other is refused. */
  headers?: readonly string[];
  writes: boolean;
  run(call: Call): Promise<Reply>;
}

const headersAlways = [
  'x-amz-date',
  'x-amz-content-sha256',
  'x-amz-security-token',
  'x-amz-user-agent',
  'x-amz-sdk-checksum-algorithm',
  'x-amz-decoded-content-length',
  'x-amz-trailer',
];

/** Some clients send the checksum of an empty body; it must be right like any other. */
function checkEmptyChecksum(name: string, value: string | undefined): boolean {
  const algorithm = checksumAlgorithms.find((one) => name === `x-amz-checksum-${one.toLowerCase()}`);
  if (!algorithm) return false;
  if (createChecksum(algorithm).digest().toString('base64') !== value)
    throw new S3Error('BadDigest', `The ${algorithm} you specified did not match the calculated checksum.`);
  return true;
}

/** Refuses parameters and headers that the operation would otherwise silently ignore. */
export function checkUnderstood(operation: Operation, call: Pick<Call, 'query' | 'headers'>): void {
  for (const name of call.query.keys()) {
    const known = operation.marks?.includes(name) || operation.query?.includes(name);
    if (!known && name !== 'x-id' && !name.startsWith('X-Amz-'))
      throw notImplemented(`Parameter ${name} of ${operation.name}`);
  }
  const isEmpty = Number(call.headers['content-length'] ?? 0) === 0 && call.headers['transfer-encoding'] === undefined;
  for (const name of Object.keys(call.headers)) {
    if (!name.startsWith('x-amz-') || headersAlways.includes(name)) continue;
    const known = operation.headers?.some((one) =>
      one.endsWith('*') ? name.startsWith(one.slice(0, -1)) : one === name,
    );
    if (known || name === operation.markHeader) continue;
    if (isEmpty && checkEmptyChecksum(name, call.headers[name])) continue;
    throw notImplemented(`Header ${name} of ${operation.name}`);
  }
}

export function bucketOf(call: Call): Bucket {
  return call.state.bucket(call.bucketName);
}

/** The XML body, which must have the given root. */
export async function documentOf(call: Call, root: string): Promise<{ root: XmlNode; received: ReceivedPayload }> {
  const { text, received } = await receiveDocument(call.payload);
  const parsed = parseXml(text);
  if (parsed?.name !== root) throw new S3Error('MalformedXML');
  return { root: parsed, received };
}

/** A whole number from the query, within bounds; refused with InvalidArgument otherwise. */
export function integerParameter(call: Call, name: string, fallback: number, min: number, max: number): number {
  const text = call.query.get(name);
  if (text === undefined || text === '') return fallback;
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max))
    throw new S3Error('InvalidArgument', `Argument ${name} must be an integer between ${min} and ${max}`, {
      ArgumentName: name,
      ArgumentValue: text,
    });
  return value;
}
