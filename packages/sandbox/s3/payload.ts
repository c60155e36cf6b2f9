import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type Checksum, createChecksum } from '../objects/checksum.ts';
import { S3Error } from './errors.ts';
import { type ChecksumAlgorithm, checksumAlgorithms } from './model.ts';
import { ChunkDecoder } from './signature/chunks.ts';
import { equal, type VerifiedSignature } from './signature/verify.ts';

export const objectBytesMax = 5 * 1024 ** 3;
const documentBytesMax = 2 * 1024 * 1024;

export interface ReceivedPayload {
  size: number;
  md5: Buffer;
  /** The checksum that the client sent and that was found right. */
  checksum?: { algorithm: ChecksumAlgorithm; value: string };
}

export interface IncomingPayload {
  request: IncomingMessage;
  /** The request's headers, and the parameters of a presigned address in their place. */
  headers: Readonly<Record<string, string | undefined>>;
  signature: VerifiedSignature;
  /** Set by the fault plan: one byte is changed before anything is verified. */
  corruptAt?: number;
  /** Set where x-amz-checksum-* is not about the body. */
  ignoreChecksumHeaders?: boolean;
}

type Sink = (bytes: Uint8Array) => Promise<void> | undefined;

/** Streams the body into the sink, verifying length, hash, signature chain and checksums; throws when any is wrong. */
export async function receivePayload(payload: IncomingPayload, sink: Sink): Promise<ReceivedPayload> {
  const plan = planPayload(payload);
  const md5 = createHash('md5');
  const sha256 = plan.sha256 ? createHash('sha256') : undefined;
  const checksum: Checksum | undefined = plan.algorithm && createChecksum(plan.algorithm);
  let size = 0;
  let rawSize = 0;
  for await (const raw of payload.request as AsyncIterable<Buffer>) {
    const damaged = payload.corruptAt === undefined ? raw : damage(raw, rawSize, payload.corruptAt, plan.size);
    rawSize += raw.length;
    for (const bytes of plan.decoder ? plan.decoder.push(damaged) : [damaged]) {
      size += bytes.length;
      if (size > plan.size) throw new S3Error('IncompleteBody', 'The body is longer than announced.');
      md5.update(bytes);
      sha256?.update(bytes);
      checksum?.update(bytes);
      const pending = sink(bytes);
      if (pending) await pending;
    }
  }
  plan.decoder?.finish();
  if (size !== plan.size) throw new S3Error('IncompleteBody');
  if (sha256 && !equal(sha256.digest('hex'), plan.sha256!)) throw new S3Error('XAmzContentSHA256Mismatch');
  const md5Digest = md5.digest();
  if (plan.md5 && !plan.md5.equals(md5Digest)) throw new S3Error('BadDigest');
  const received: ReceivedPayload = { size, md5: md5Digest };
  if (checksum && plan.algorithm) {
    const sent = plan.checksum ?? plan.decoder?.trailers.get(`x-amz-checksum-${plan.algorithm.toLowerCase()}`);
    received.checksum = { algorithm: plan.algorithm, value: verifiedChecksum(plan.algorithm, checksum, sent) };
  }
  return received;
}

/** Reads a whole XML body, which is always small. */
export async function receiveDocument(payload: IncomingPayload): Promise<{ text: string; received: ReceivedPayload }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const received = await receivePayload(payload, (bytes) => {
    size += bytes.length;
    if (size > documentBytesMax) throw new S3Error('MaxMessageLengthExceeded');
    chunks.push(bytes);
    return undefined;
  });
  return { text: Buffer.concat(chunks).toString('utf8'), received };
}

interface PayloadPlan {
  size: number;
  sha256?: string;
  md5?: Buffer;
  algorithm?: ChecksumAlgorithm;
  checksum?: string;
  decoder?: ChunkDecoder;
}

function planPayload({ headers, signature, ignoreChecksumHeaders }: IncomingPayload): PayloadPlan {
  const streaming = signature.payloadHash.startsWith('STREAMING-');
  const size = payloadSize(headers, streaming);
  if (size > objectBytesMax) throw new S3Error('EntityTooLarge', undefined, { ProposedSize: String(size) });
  const plan: PayloadPlan = { size };
  if (streaming) plan.decoder = chunkDecoder(signature, headers);
  else if (/^[0-9a-f]{64}$/.test(signature.payloadHash)) plan.sha256 = signature.payloadHash;
  else if (signature.payloadHash !== 'UNSIGNED-PAYLOAD')
    throw new S3Error(
      'InvalidArgument',
      'x-amz-content-sha256 must be UNSIGNED-PAYLOAD, a streaming marker, or a valid sha256 value.',
    );
  const md5 = headers['content-md5'];
  if (md5 !== undefined) {
    plan.md5 = Buffer.from(md5, 'base64');
    if (plan.md5.length !== 16 || plan.md5.toString('base64') !== md5) throw new S3Error('InvalidDigest');
  }
  return ignoreChecksumHeaders ? plan : Object.assign(plan, announcedChecksum(headers));
}

function payloadSize(headers: IncomingPayload['headers'], streaming: boolean): number {
  if (streaming !== /(^|,)\s*aws-chunked\s*(,|$)/.test(headers['content-encoding'] ?? ''))
    throw new S3Error(
      'InvalidRequest',
      'A streaming payload needs Content-Encoding: aws-chunked, and the other way round.',
    );
  if (!streaming && headers['transfer-encoding'] !== undefined)
    throw new S3Error('NotImplemented', undefined, { Header: 'Transfer-Encoding' });
  const text = headers[streaming ? 'x-amz-decoded-content-length' : 'content-length'];
  if (text === undefined || !/^\d{1,15}$/.test(text)) throw new S3Error('MissingContentLength');
  return Number(text);
}

function chunkDecoder(signature: VerifiedSignature, headers: IncomingPayload['headers']): ChunkDecoder {
  const trailers = (headers['x-amz-trailer'] ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
  switch (signature.payloadHash) {
    case 'STREAMING-UNSIGNED-PAYLOAD-TRAILER':
      return new ChunkDecoder({ trailers });
    case 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD':
      return new ChunkDecoder({ trailers: [], signature });
    case 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER':
      return new ChunkDecoder({ trailers, signature });
    default:
      throw new S3Error('InvalidArgument', `The payload marker ${signature.payloadHash} is not known.`);
  }
}

function announcedChecksum(headers: IncomingPayload['headers']): Pick<PayloadPlan, 'algorithm' | 'checksum'> {
  const trailer = headers['x-amz-trailer']?.toLowerCase() ?? '';
  const announced = checksumAlgorithms.filter((name) => {
    const header = `x-amz-checksum-${name.toLowerCase()}`;
    return headers[header] !== undefined || trailer.split(',').some((one) => one.trim() === header);
  });
  const [algorithm, ...others] = announced;
  if (others.length > 0)
    throw new S3Error(
      'InvalidRequest',
      'Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.',
    );
  const named = headers['x-amz-sdk-checksum-algorithm'];
  if (named && !checksumAlgorithms.includes(named as ChecksumAlgorithm))
    throw new S3Error('InvalidRequest', 'Value for x-amz-sdk-checksum-algorithm header is invalid.');
  if (named && algorithm !== named)
    throw new S3Error(
      'InvalidRequest',
      'x-amz-sdk-checksum-algorithm specified, but no corresponding x-amz-checksum-* or x-amz-trailer headers were found.',
    );
  if (!algorithm) return {};
  const checksum = headers[`x-amz-checksum-${algorithm.toLowerCase()}`];
  return checksum === undefined ? { algorithm } : { algorithm, checksum };
}

function verifiedChecksum(algorithm: ChecksumAlgorithm, checksum: Checksum, sent: string | undefined): string {
  const computed = checksum.digest();
  const value = computed.toString('base64');
  const claimed = Buffer.from(sent ?? '', 'base64');
  if (claimed.length !== computed.length || claimed.toString('base64') !== sent)
    throw new S3Error('InvalidRequest', `Value for x-amz-checksum-${algorithm.toLowerCase()} header is invalid.`);
  if (sent !== value)
    throw new S3Error('BadDigest', `The ${algorithm} you specified did not match the calculated checksum.`);
  return value;
}

function damage(bytes: Buffer, offset: number, share: number, size: number): Buffer {
  const at = Math.floor(share * size) - offset;
  if (at < 0 || at >= bytes.length) return bytes;
  const copy = Buffer.from(bytes);
  copy[at]! ^= 0x20;
  return copy;
}
