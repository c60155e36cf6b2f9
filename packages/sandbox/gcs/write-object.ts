import { type Checksum, createChecksum } from '../objects/checksum.ts';
import type { Piece } from '../objects/contents.ts';
import type { Call } from './call.ts';
import { GcsError } from './errors.ts';
import type { ClaimedDigests, ObjectSettings, StoredObject } from './model.ts';
import { checkPreconditions } from './preconditions.ts';
import { checkReplaceable } from './protection.ts';
import type { Bucket, GcsState } from './state.ts';

const nameBytesMax = 1024;

export interface Digests {
  md5: Checksum;
  crc32c: Checksum;
}

export function startDigests(): Digests {
  return { md5: createChecksum('MD5'), crc32c: createChecksum('CRC32C') };
}

export function checkName(name: string): void {
  const size = Buffer.byteLength(name);
  if (size === 0) throw new GcsError('required', 'Required parameter: name');
  if (size > nameBytesMax) throw new GcsError('invalid', 'The maximum object length is 1024 characters');
  if (/[\r\n]/.test(name) || name === '.' || name === '..' || name.startsWith('.well-known/acme-challenge/'))
    throw new GcsError('invalid', 'Disallowed object name.');
}

/** From the x-goog-hash header, Content-MD5, and the object's description. */
export function claimedDigests(headers: Call['headers'], resource: Record<string, unknown> = {}): ClaimedDigests {
  const claimed: ClaimedDigests = { md5: headers['content-md5'] };
  for (const pair of (headers['x-goog-hash'] ?? '').split(',')) {
    const [name, ...value] = pair.trim().split('=');
    if (name === 'md5') claimed.md5 = value.join('=');
    if (name === 'crc32c') claimed.crc32c = value.join('=');
  }
  if (typeof resource.md5Hash === 'string') claimed.md5 = resource.md5Hash;
  if (typeof resource.crc32c === 'string') claimed.crc32c = resource.crc32c;
  return claimed;
}

export function checkDigests(claimed: ClaimedDigests, actual: { md5: string; crc32c: string }): void {
  if (claimed.md5 !== undefined && claimed.md5 !== actual.md5)
    throw new GcsError(
      'invalid',
      `Provided MD5 hash "${claimed.md5}" doesn't match calculated MD5 hash "${actual.md5}".`,
    );
  if (claimed.crc32c !== undefined && claimed.crc32c !== actual.crc32c)
    throw new GcsError(
      'invalid',
      `Provided CRC32C "${claimed.crc32c}" doesn't match calculated CRC32C "${actual.crc32c}".`,
    );
}

export interface NewObject {
  name: string;
  pieces: Piece[];
  size: number;
  md5?: string;
  crc32c: string;
  componentCount?: number;
  settings: ObjectSettings;
}

/**
 * Puts an object in place if its conditions hold and the replaced object is not protected. The check and the change are
 * one step: of two writers that both want generation 0, one fails. The pieces are freed when it throws.
 */
export async function placeObject(
  state: GcsState,
  bucket: Bucket,
  query: ReadonlyMap<string, string>,
  object: NewObject,
): Promise<StoredObject> {
  try {
    const current = bucket.objects.get(object.name);
    checkPreconditions(query, current, 'write');
    checkReplaceable(current, bucket.settings, state.now());
  } catch (error) {
    state.releaseAll(object.pieces);
    throw error;
  }
  const nowMs = state.now();
  const { defaultEventBasedHold } = bucket.settings;
  const placed: StoredObject = {
    ...object,
    generation: state.nextGeneration(),
    metageneration: 1,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    settings: { ...(defaultEventBasedHold && { eventBasedHold: true }), ...object.settings },
  };
  await state.saveObject(bucket, placed);
  return placed;
}

export function damage(bytes: Buffer, offset: number, at: number): Buffer {
  const index = at - offset;
  if (index < 0 || index >= bytes.length) return bytes;
  const copy = Buffer.from(bytes);
  copy[index]! ^= 0x20;
  return copy;
}
