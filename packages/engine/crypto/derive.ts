import { hkdfSync } from 'node:crypto';

export const keyBytes = 32;
export const tagBytes = 16;
export const ivBytes = 12;

/** HKDF-SHA-256 with 32 bytes of output. Every derived key of the format goes through here. */
export function deriveKey(key: Uint8Array, salt: Uint8Array, info: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', key, salt, Buffer.from(info, 'utf8'), keyBytes));
}

export const noSalt: Uint8Array = new Uint8Array(0);

/** The key of one sealed object. Its salt, the object's id, is random and new for every sealing, so IVs may repeat across objects. */
export function deriveObjectKey(dataKey: Uint8Array, objectId: Uint8Array, ownerId: string): Uint8Array {
  return deriveKey(dataKey, objectId, `holdfast/1 object ${ownerId}`);
}
