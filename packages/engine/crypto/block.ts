import { createCipheriv, createDecipheriv, hash, webcrypto } from 'node:crypto';
import { constants, createZstdCompress, createZstdDecompress, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { freeBytes } from '../memory/free-bytes.ts';
import { EngineError } from '../ports/errors.ts';
import { ivBytes, tagBytes } from './derive.ts';
import { transformWhole } from './transform-whole.ts';

const { subtle } = webcrypto;

export const codec = { stored: 0, zstd: 1 } as const;
export type Codec = (typeof codec)[keyof typeof codec];

export function isCodec(value: number): value is Codec {
  return value === codec.stored || value === codec.zstd;
}

/** Our blocks are never larger; a header with a larger length is refused. */
const blockPlainBytesMax = 64 * 1024 * 1024;
/** Segments hold a few MiB, or one large document; manifests far less. */
export const smallBlockBytesMax = 16 * 1024 * 1024;

/**
 * Level 1 with a window and a table that fit into a core's own cache: a fifth faster on documents than plain level 1,
 * for a few per cent more bytes.
 */
const zstdParams = {
  [constants.ZSTD_c_compressionLevel]: 1,
  [constants.ZSTD_c_windowLog]: 17,
  [constants.ZSTD_c_hashLog]: 13,
};
/**
 * The expected ratio of output to input, learned from earlier blocks. It decides the first allocation: enough for the
 * whole output in most cases, without allocating the input's length. If it is too small, a second piece is needed; the
 * result is the same.
 */
let expectedRatio = 0.5;
const outputSlackBytes = 64 * 1024;
/**
 * Blocks up to this length are processed directly: that takes less than a tenth of a millisecond, and using another
 * thread costs several times as much. Pages, manifests and most increments are that small.
 */
const atOnceBytesMax = 16 * 1024;
const smallSlackBytes = 256;

export type BlockNumber = 1 | 2;

function ivOf(block: BlockNumber): Uint8Array<ArrayBuffer> {
  const iv = new Uint8Array(ivBytes);
  iv[ivBytes - 1] = block;
  return iv;
}

function gcmOptions(block: BlockNumber, aad: Uint8Array): webcrypto.AesGcmParams {
  return { name: 'AES-GCM', iv: ivOf(block), additionalData: aad, tagLength: tagBytes * 8 };
}

/** Runs on the platform's own threads, like sealing and opening, unless the input is short. */
export async function compress(plain: Uint8Array, using: Codec): Promise<Uint8Array> {
  if (using === codec.stored) return plain;
  if (plain.length <= atOnceBytesMax)
    return zstdCompressSync(plain, { chunkSize: plain.length + smallSlackBytes, params: zstdParams });
  const chunkSize = Math.ceil(plain.length * expectedRatio * 1.1) + outputSlackBytes;
  const packed = await transformWhole(createZstdCompress({ chunkSize, params: zstdParams }), plain);
  if (plain.length > outputSlackBytes) expectedRatio = packed.length / plain.length;
  return packed;
}

async function decompress(packed: Uint8Array, using: Codec, plainLength: number): Promise<Uint8Array> {
  if (using === codec.stored) return packed;
  try {
    // If the output fills its buffer exactly, zlib allocates the same size again, so this adds a little.
    if (Math.max(packed.length, plainLength) <= atOnceBytesMax)
      return zstdDecompressSync(packed, {
        chunkSize: plainLength + smallSlackBytes,
        maxOutputLength: Math.max(1, plainLength),
      });
    const chunkSize = plainLength + outputSlackBytes;
    return await transformWhole(createZstdDecompress({ chunkSize }), packed, plainLength);
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
  if (packed.length <= atOnceBytesMax) {
    const cipher = createCipheriv('aes-256-gcm', objectKey, ivOf(block)).setAAD(aad);
    return Buffer.concat([cipher.update(packed), cipher.final(), cipher.getAuthTag()]);
  }
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
  const packed = await decrypt(objectKey, block, aad, sealed).catch((cause: unknown) => {
    throw new EngineError('INTEGRITY_ERROR', 'A sealed block was changed, moved, or belongs to another backup.', {
      cause,
    });
  });
  const plain = await decompress(packed, using, plainLength);
  if (using !== codec.stored) freeBytes(packed);
  if (plain.length !== plainLength)
    throw new EngineError('INTEGRITY_ERROR', 'A sealed block has another length than it says.');
  return plain;
}

async function decrypt(
  objectKey: Uint8Array,
  block: BlockNumber,
  aad: Uint8Array,
  sealed: Uint8Array,
): Promise<Uint8Array> {
  if (sealed.length <= atOnceBytesMax) {
    const end = sealed.length - tagBytes;
    const decipher = createDecipheriv('aes-256-gcm', objectKey, ivOf(block), { authTagLength: tagBytes }).setAAD(aad);
    decipher.setAuthTag(sealed.subarray(end));
    return Buffer.concat([decipher.update(sealed.subarray(0, end)), decipher.final()]);
  }
  const key = await subtle.importKey('raw', objectKey, 'AES-GCM', false, ['decrypt']);
  return new Uint8Array(await subtle.decrypt(gcmOptions(block, aad), key, sealed));
}

export async function sha256(bytes: Uint8Array): Promise<string> {
  if (bytes.length <= atOnceBytesMax) return hash('sha256', bytes, 'hex');
  return Buffer.from(await subtle.digest('SHA-256', bytes)).toString('hex');
}
