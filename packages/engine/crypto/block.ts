import { createCipheriv, createDecipheriv } from 'node:crypto';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { EngineError } from '../ports/errors.ts';
import { ivBytes, tagBytes } from './derive.ts';

export const codec = { stored: 0, zstd: 1 } as const;
export type Codec = (typeof codec)[keyof typeof codec];

export function isCodec(value: number): value is Codec {
  return value === codec.stored || value === codec.zstd;
}

/** No block of ours is larger; a header that claims more is not believed. */
export const blockPlainBytesMax = 64 * 1024 * 1024;

/** The fastest level whose ratio is still that of the slower ones on documents. */
const zstdLevel = 1;
const zstdChunkBytes = 512 * 1024;

export type BlockNumber = 1 | 2;

function blockIv(block: BlockNumber): Uint8Array {
  const iv = new Uint8Array(ivBytes);
  iv[ivBytes - 1] = block;
  return iv;
}

export function compress(plain: Uint8Array, using: Codec): Uint8Array {
  if (using === codec.stored) return plain;
  return zstdCompressSync(plain, {
    chunkSize: zstdChunkBytes,
    params: { [constants.ZSTD_c_compressionLevel]: zstdLevel },
  });
}

function decompress(packed: Uint8Array, using: Codec, plainLength: number): Uint8Array {
  if (using === codec.stored) return packed;
  try {
    const chunkSize = Math.min(Math.max(plainLength, 1024), blockPlainBytesMax);
    return zstdDecompressSync(packed, { maxOutputLength: Math.max(plainLength, 1), chunkSize });
  } catch (cause) {
    throw new EngineError('INTEGRITY_ERROR', 'A sealed block does not decompress.', { cause });
  }
}

/** Seals bytes that are already compressed; returns ciphertext and tag as they lie in the object. */
export function sealBlock(
  objectKey: Uint8Array,
  block: BlockNumber,
  aad: Uint8Array,
  packed: Uint8Array,
): Uint8Array[] {
  const cipher = createCipheriv('aes-256-gcm', objectKey, blockIv(block), { authTagLength: tagBytes });
  cipher.setAAD(aad);
  const ciphertext = cipher.update(packed);
  cipher.final();
  return [ciphertext, cipher.getAuthTag()];
}

export interface SealedBlock {
  readonly block: BlockNumber;
  readonly aad: Uint8Array;
  /** Ciphertext and tag. */
  readonly sealed: Uint8Array;
  readonly codec: Codec;
  readonly plainLength: number;
}

/** Returns the plaintext only when tag and length are right. */
export function openBlock(
  objectKey: Uint8Array,
  { block, aad, sealed, codec: using, plainLength }: SealedBlock,
): Uint8Array {
  if (sealed.length < tagBytes || plainLength > blockPlainBytesMax) {
    throw new EngineError('INTEGRITY_ERROR', 'A sealed block has an impossible length.');
  }
  const decipher = createDecipheriv('aes-256-gcm', objectKey, blockIv(block), { authTagLength: tagBytes });
  decipher.setAAD(aad);
  decipher.setAuthTag(sealed.subarray(sealed.length - tagBytes));
  const packed = decipher.update(sealed.subarray(0, sealed.length - tagBytes));
  try {
    decipher.final();
  } catch (cause) {
    throw new EngineError('INTEGRITY_ERROR', 'A sealed block was changed, moved, or belongs to another backup.', {
      cause,
    });
  }
  const plain = decompress(packed, using, plainLength);
  if (plain.length !== plainLength)
    throw new EngineError('INTEGRITY_ERROR', 'A sealed block has another length than it says.');
  return plain;
}
