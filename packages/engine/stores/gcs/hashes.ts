import { createHash } from 'node:crypto';
import { crc32c } from '../crc32c.ts';

export function md5Of(bytes: Uint8Array): string {
  return createHash('md5').update(bytes).digest('base64');
}

/** Whether the bytes have the hash that Google sends in `x-goog-hash`. Objects that others composed have no MD5. */
export function isHashOf(bytes: Uint8Array, header: string | string[] | undefined): boolean {
  const { md5, crc32c: crc } = parseHashes(header);
  return md5 !== undefined ? md5Of(bytes) === md5 : crc32cOf(bytes) === crc;
}

/** Slow. */
function crc32cOf(bytes: Uint8Array): string {
  const digest = Buffer.alloc(4);
  digest.writeUInt32BE(crc32c(bytes));
  return digest.toString('base64');
}

function parseHashes(header: string | string[] | undefined): { md5?: string; crc32c?: string } {
  const hashes: Record<string, string> = {};
  for (const pair of String(header ?? '').split(',')) {
    const equals = pair.indexOf('=');
    if (equals > 0) hashes[pair.slice(0, equals).trim()] = pair.slice(equals + 1);
  }
  return hashes;
}
