import { invalid } from '../transport/status.ts';

/** Page tokens contain the last key of the page; the next page starts after it, whatever has changed. */
export function encodePageToken(key: string): string {
  return Buffer.from(key, 'utf16le').toString('base64url');
}

export function decodePageToken(token: string): string | null {
  if (token === '') return null;
  const bytes = Buffer.from(token, 'base64url');
  if (bytes.length === 0 || bytes.length % 2 !== 0) throw invalid('The page token is not one of ours.');
  return bytes.toString('utf16le');
}
