import { randomBytes } from 'node:crypto';
import {
  type Codec,
  codec,
  compress,
  isCodec,
  openBlock,
  sealBlock,
  sha256,
  smallBlockBytesMax,
} from '../crypto/block.ts';
import { deriveObjectKey, tagBytes } from '../crypto/derive.ts';
import type { Envelope } from '../crypto/envelope.ts';
import { freeBytes } from '../memory/free-bytes.ts';
import { EngineError } from '../ports/errors.ts';
import { isOwnerId } from './object-keys.ts';
import { additionalData } from './segment.ts';
import { formatVersion } from './segment-header.ts';

export const manifestContent = { root: 1, shard: 2, logRoot: 3, journal: 4 } as const;
export type ManifestContent = (typeof manifestContent)[keyof typeof manifestContent];

const manifestHeaderBytes = 48;
const manifestMagic = 0x464d4648; // "HFMF" read as u32 LE
const clearBytesMax = 64 * 1024;
const valuesMax = 1_000_000;
const [comma, openArray, openObject] = [0x2c, 0x5b, 0x7b];

/** What can be read of a root without any key. */
export interface ClearManifest {
  readonly ownerId: string;
  readonly createdAt: string;
  readonly envelope: Envelope;
}

export interface SealedManifest {
  readonly bytes: Uint8Array;
  readonly objectId: string;
  /** SHA-256 of the sealed body: the manifest's identity, unchanged by re-wrapping. */
  readonly bodySha256: string;
}

interface ManifestHeader {
  readonly content: ManifestContent;
  readonly codec: Codec;
  readonly objectId: Uint8Array;
  readonly clearLength: number;
  readonly plainLength: number;
  readonly sealedLength: number;
}

export interface ManifestSeal {
  readonly content: ManifestContent;
  readonly ownerId: string;
  readonly dataKey: Uint8Array;
  /** Absent in a shard. */
  readonly clear?: ClearManifest;
}

export async function sealManifest(
  body: unknown,
  { content, ownerId, dataKey, clear }: ManifestSeal,
): Promise<SealedManifest> {
  const plain = Buffer.from(JSON.stringify(body), 'utf8');
  const packed = await compress(plain, codec.zstd);
  const objectId = new Uint8Array(randomBytes(16));
  const clearJson = clear === undefined ? new Uint8Array(0) : Buffer.from(JSON.stringify(clear), 'utf8');
  const header: ManifestHeader = {
    content,
    codec: codec.zstd,
    objectId,
    clearLength: clearJson.length,
    plainLength: plain.length,
    sealedLength: packed.length + tagBytes,
  };
  const objectKey = deriveObjectKey(dataKey, objectId, ownerId);
  const sealed = await sealBlock(objectKey, 1, manifestAad(header, ownerId), packed);
  return {
    bytes: Buffer.concat([encodeHeader(header), clearJson, sealed]),
    objectId: Buffer.from(objectId).toString('hex'),
    bodySha256: await sha256(sealed),
  };
}

/** Splits a manifest into its parts without opening it; works without a key. */
export class ManifestObject {
  readonly #header: ManifestHeader;
  readonly #clearJson: Uint8Array;
  readonly #sealed: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#header = decodeHeader(bytes);
    const sealedStart = manifestHeaderBytes + this.#header.clearLength;
    if (bytes.length !== sealedStart + this.#header.sealedLength) throw damaged('has another length than it says');
    this.#clearJson = bytes.subarray(manifestHeaderBytes, sealedStart);
    this.#sealed = bytes.subarray(sealedStart);
  }

  get content(): ManifestContent {
    return this.#header.content;
  }

  get objectId(): string {
    return Buffer.from(this.#header.objectId).toString('hex');
  }

  async bodySha256(): Promise<string> {
    return await sha256(this.#sealed);
  }

  clear(): ClearManifest {
    try {
      const clear = JSON.parse(Buffer.from(this.#clearJson).toString('utf8')) as ClearManifest;
      if (typeof clear.ownerId === 'string' && isOwnerId(clear.ownerId) && typeof clear.createdAt === 'string')
        return clear;
    } catch {
      // Falls through: text that is not JSON is as damaged as JSON of another shape.
    }
    throw damaged('has an unreadable head');
  }

  async open(ownerId: string, dataKey: Uint8Array): Promise<unknown> {
    const plain = await openBlock(deriveObjectKey(dataKey, this.#header.objectId, ownerId), {
      block: 1,
      aad: manifestAad(this.#header, ownerId),
      sealed: this.#sealed,
      codec: this.#header.codec,
      plainLength: this.#header.plainLength,
      // A journal page may hold a large document; the other kinds hold only lists.
      ...(this.content === manifestContent.journal ? {} : { plainLengthMax: smallBlockBytesMax }),
    });
    try {
      if (hasTooManyValues(plain)) throw damaged('holds more than a manifest can');
      return parsed(plain);
    } finally {
      freeBytes(plain);
    }
  }

  /** The same sealed body under another envelope. */
  withClear(clear: ClearManifest): Uint8Array {
    const clearJson = Buffer.from(JSON.stringify(clear), 'utf8');
    return Buffer.concat([encodeHeader({ ...this.#header, clearLength: clearJson.length }), clearJson, this.#sealed]);
  }
}

function parsed(plain: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(plain.buffer, plain.byteOffset, plain.length).toString('utf8'));
  } catch {
    throw damaged('holds no JSON');
  }
}

function manifestAad(header: ManifestHeader, ownerId: string): Uint8Array {
  return additionalData(encodeHeader({ ...header, clearLength: 0 }), ownerId, 1);
}

function encodeHeader(header: ManifestHeader): Uint8Array {
  const bytes = new Uint8Array(manifestHeaderBytes);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, manifestMagic, true);
  view.setUint8(4, formatVersion);
  view.setUint8(5, header.content);
  view.setUint8(6, header.codec);
  bytes.set(header.objectId, 8);
  view.setUint32(24, header.clearLength, true);
  view.setUint32(28, header.plainLength, true);
  view.setUint32(32, header.sealedLength, true);
  return bytes;
}

function decodeHeader(bytes: Uint8Array): ManifestHeader {
  if (bytes.length < manifestHeaderBytes) throw damaged('is shorter than its header');
  const view = new DataView(bytes.buffer, bytes.byteOffset, manifestHeaderBytes);
  if (view.getUint32(0, true) !== manifestMagic) throw damaged('does not begin like a manifest');
  if (view.getUint8(4) !== formatVersion) throw damaged(`has the unknown format version ${view.getUint8(4)}`);
  const content = view.getUint8(5);
  const usedCodec = view.getUint8(6);
  const isReservedZero = view.getUint8(7) === 0 && bytes.subarray(36, manifestHeaderBytes).every((byte) => byte === 0);
  const clearLength = view.getUint32(24, true);
  if (content < 1 || content > 4 || !isCodec(usedCodec) || !isReservedZero || clearLength > clearBytesMax) {
    throw damaged('has an unknown kind');
  }
  return {
    content: content as ManifestContent,
    codec: usedCodec,
    objectId: bytes.slice(8, 24),
    clearLength,
    plainLength: view.getUint32(28, true),
    sealedLength: view.getUint32(32, true),
  };
}

/**
 * Refuses JSON with too many values before it is parsed, because parsing blocks the thread and takes many times the
 * memory of the text. Every value except the first follows one of these bytes. The bytes inside strings count too, so
 * the limit is far above what a manifest of ours has.
 */
function hasTooManyValues(json: Uint8Array): boolean {
  let values = 0;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === comma || byte === openArray || byte === openObject) values++;
  }
  return values > valuesMax;
}

function damaged(how: string): EngineError {
  return new EngineError('INTEGRITY_ERROR', `A manifest ${how}.`);
}
