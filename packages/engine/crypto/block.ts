import { webcrypto } from 'node:crypto';
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib';
import { freeBytes } from '../memory/free-bytes.ts';
import { EngineError } from '../ports/errors.ts';
import { ivBytes, tagBytes } from './derive.ts';
import { runThrough } from './run-through.ts';

const { subtle } = webcrypto;

export const codec = { stored: 0, zstd: 1 } as const;
export type Codec = (typeof codec)[keyof typeof codec];

export function isCodec(value: number): value is Codec {
  return value === codec.stored || value === codec.zstd;
}

/** No block of ours is larger; a header that claims more is not believed. */
const blockPlainBytesMax = 64 * 1024 * 1024;
/** Segments hold a few MiB, or one large document; manifests far less. */
export const smallBlockBytesMax = 16 * 1024 * 1024;

/**
 * Level 1 with a window and a table that stay in a core's own cache: on documents a fifth faster than plain level 1 for a
 * few per cent more bytes.
 */
const zstdParams = {
  [constants.ZSTD_c_compressionLevel]: 1,
  [constants.ZSTD_c_windowLog]: 17,
  [constants.ZSTD_c_hashLog]: 13,
};
/**
 * How much room the output gets at first, learned from what came before: enough for one piece in most cases, without
 * allocating the whole input's length for a fraction of it. Too little costs a second piece, never correctness.
 */
let expectedRatio = 0.5;
const outputSlackBytes = 64 * 1024;

export type BlockNumber = 1 | 2;

function gcmOptions(block: BlockNumber, aad: Uint8Array): webcrypto.AesGcmParams {
  const iv = new Uint8Array(ivBytes);
  iv[ivBytes - 1] = block;
  return { name: 'AES-GCM', iv, additionalData: aad, tagLength: tagBytes * 8 };
}

/** Like sealing and opening, this runs on the platform's own threads: the caller's thread only waits. */
export async function compress(plain: Uint8Array, using: Codec): Promise<Uint8Array> {
  if (using === codec.stored) return plain;
  const chunkSize = Math.ceil(plain.length * expectedRatio * 1.1) + outputSlackBytes;
  const packed = await runThrough(createZstdCompress({ chunkSize, params: zstdParams }), plain);
  if (plain.length > outputSlackBytes) expectedRatio = packed.length / plain.length;
  return packed;
}

async function decompress(packed: Uint8Array, using: Codec, plainLength: number): Promise<Uint8Array> {
  if (using === codec.stored) return packed;
  try {
    // Output that fills its room exactly makes zlib allocate the same room again, hence a little more.
    const chunkSize = plainLength + outputSlackBytes;
    return await runThrough(createZstdDecompress({ chunkSize }), packed, plainLength);
  } catch (cause) {
    throw new EngineError('INTEGRITY_ERROR', 'A sealed block does not decompress.', { cause });
  }
}

/** Seals bytes that are already compressed; returns ciphertext and tag as they lie in the object. */
export async function sealBlock(
  objectKey: Uint8Array,
  block: BlockNumber,
  aad: Uint8Array,
  packed: Uint8Array,
): Promise<Uint8Array> {
  const key = await subtle.importKey('raw', objectKey, 'AES-GCM', false, ['encrypt']);
  return new Uint8Array(await subtle.encrypt(gcmOptions(block, aad), key, packed));
}

export interface SealedBlock {
  readonly block: BlockNumber;
  readonly aad: Uint8Array;
  /** Ciphertext and tag. */
  readonly sealed: Uint8Array;
  readonly codec: Codec;
  readonly plainLength: number;
  readonly plainLengthMax?: number;
}

/** Returns the plaintext only when tag and length are right. */
export async function openBlock(objectKey: Uint8Array, given: SealedBlock): Promise<Uint8Array> {
  const { block, aad, sealed, codec: using, plainLength, plainLengthMax = blockPlainBytesMax } = given;
  if (sealed.length < tagBytes || plainLength > plainLengthMax) {
    throw new EngineError('INTEGRITY_ERROR', 'A sealed block has an impossible length.');
  }
  const key = await subtle.importKey('raw', objectKey, 'AES-GCM', false, ['decrypt']);
  const packed = await subtle.decrypt(gcmOptions(block, aad), key, sealed).catch((cause: unknown) => {
    throw new EngineError('INTEGRITY_ERROR', 'A sealed block was changed, moved, or belongs to another backup.', {
      cause,
    });
  });
  const plain = await decompress(new Uint8Array(packed), using, plainLength);
  if (using !== codec.stored) freeBytes(new Uint8Array(packed));
  if (plain.length !== plainLength)
    throw new EngineError('INTEGRITY_ERROR', 'A sealed block has another length than it says.');
  return plain;
}

export async function sha256(bytes: Uint8Array): Promise<string> {
  return Buffer.from(await subtle.digest('SHA-256', bytes)).toString('hex');
}
