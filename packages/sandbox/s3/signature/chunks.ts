import { createHash, type Hash } from 'node:crypto';
import { S3Error } from '../errors.ts';
import { hmac, scopeText, sha256Hex } from './canonical.ts';
import { equal, type VerifiedSignature } from './verify.ts';

const headerBytesMax = 256;
const trailerBytesMax = 2048;
const chunkBytesMin = 8192;
const emptySha256 = sha256Hex('');

export interface ChunkRules {
  /** Set when every chunk carries a signature that continues the request's own. */
  signature?: VerifiedSignature;
  /** Names announced in x-amz-trailer, lower case. */
  trailers: readonly string[];
}

/**
 * Decodes an `aws-chunked` body piece by piece. A chunk's signature can be checked only at its last byte, so do not
 * rely on returned bytes before `finish()` has returned.
 */
export class ChunkDecoder {
  readonly #rules: ChunkRules;
  #state: 'header' | 'data' | 'dataEnd' | 'trailer' | 'done' = 'header';
  #line: Buffer = Buffer.alloc(0);
  #left = 0;
  #previousSignature: string;
  #claimedSignature = '';
  #hash: Hash | undefined;
  #sawShortChunk = false;
  #trailerText = '';
  readonly trailers = new Map<string, string>();

  constructor(rules: ChunkRules) {
    this.#rules = rules;
    this.#previousSignature = rules.signature?.signature ?? '';
  }

  /** The data bytes within this piece of the body. */
  push(bytes: Buffer): Buffer[] {
    const data: Buffer[] = [];
    let at = 0;
    while (at < bytes.length) {
      if (this.#state === 'done') throw new S3Error('MalformedTrailerError', 'There were bytes after the last chunk.');
      if (this.#state === 'data') {
        const part = bytes.subarray(at, at + this.#left);
        this.#hash?.update(part);
        data.push(part);
        at += part.length;
        this.#left -= part.length;
        if (this.#left === 0) this.#state = 'dataEnd';
      } else at = this.#takeLine(bytes, at);
    }
    return data;
  }

  finish(): void {
    if (this.#state !== 'done') throw new S3Error('IncompleteBody');
    for (const name of this.#rules.trailers)
      if (!this.trailers.has(name)) throw new S3Error('MalformedTrailerError', `The trailer ${name} is missing.`);
  }

  #takeLine(bytes: Buffer, from: number): number {
    const end = bytes.indexOf(10, from);
    const to = end === -1 ? bytes.length : end + 1;
    this.#line = Buffer.concat([this.#line, bytes.subarray(from, to)]);
    const max = this.#state === 'trailer' ? trailerBytesMax : headerBytesMax;
    if (this.#line.length > max) throw new S3Error('InvalidRequest', 'A chunk header is too long.');
    if (end !== -1) {
      const line = this.#line.toString('latin1').replace(/\r?\n$/, '');
      this.#line = Buffer.alloc(0);
      if (this.#state === 'header') this.#chunkHeader(line);
      else if (this.#state === 'dataEnd') this.#chunkEnd(line);
      else this.#trailerLine(line);
    }
    return to;
  }

  #chunkHeader(line: string): void {
    const match = /^([0-9a-fA-F]{1,8})(?:;chunk-signature=([0-9a-f]{64}))?$/.exec(line);
    if (!match) throw new S3Error('InvalidRequest', 'A chunk header is malformed.');
    const signed = this.#rules.signature !== undefined;
    if (signed !== (match[2] !== undefined)) throw new S3Error('SignatureDoesNotMatch');
    this.#claimedSignature = match[2] ?? '';
    this.#left = Number.parseInt(match[1]!, 16);
    if (signed) this.#hash = createHash('sha256');
    if (this.#left === 0) {
      this.#checkChunk();
      this.#state = 'trailer';
      return;
    }
    if (this.#sawShortChunk) throw new S3Error('InvalidChunkSizeError');
    this.#sawShortChunk = this.#left < chunkBytesMin;
    this.#state = 'data';
  }

  #chunkEnd(line: string): void {
    if (line !== '') throw new S3Error('InvalidRequest', 'A chunk is longer than it said.');
    this.#checkChunk();
    this.#state = 'header';
  }

  #checkChunk(): void {
    const { signature } = this.#rules;
    if (!signature || !this.#hash) return;
    const toSign = [
      'AWS4-HMAC-SHA256-PAYLOAD',
      signature.amzDate,
      scopeText(signature.scope),
      this.#previousSignature,
      emptySha256,
      this.#hash.digest('hex'),
    ].join('\n');
    this.#advance(signature.key, toSign, this.#claimedSignature);
  }

  #advance(key: Buffer, toSign: string, claimed: string): void {
    const expected = hmac(key, toSign).toString('hex');
    if (!equal(expected, claimed)) throw new S3Error('SignatureDoesNotMatch');
    this.#previousSignature = expected;
  }

  #trailerLine(line: string): void {
    if (line === '') {
      this.#endTrailer();
      return;
    }
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    if (colon < 1 || this.trailers.has(name)) throw new S3Error('MalformedTrailerError');
    if (name !== 'x-amz-trailer-signature') {
      if (!this.#rules.trailers.includes(name))
        throw new S3Error('MalformedTrailerError', `The trailer ${name} was not announced.`);
      this.#trailerText += `${name}:${value}\n`;
    }
    this.trailers.set(name, value);
  }

  #endTrailer(): void {
    const { signature, trailers } = this.#rules;
    if (signature && trailers.length > 0) {
      const toSign = [
        'AWS4-HMAC-SHA256-TRAILER',
        signature.amzDate,
        scopeText(signature.scope),
        this.#previousSignature,
        sha256Hex(this.#trailerText),
      ].join('\n');
      this.#advance(signature.key, toSign, this.trailers.get('x-amz-trailer-signature') ?? '');
    }
    this.#state = 'done';
  }
}
