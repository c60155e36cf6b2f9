import { invalid } from '../transport/status.ts';
import type { Micros } from '../values/timestamp.ts';

const tokenBytes = 8;

/** A resume token is the snapshot time for which it was issued. */
export function encodeResumeToken(time: Micros): Buffer {
  const token = Buffer.alloc(tokenBytes);
  token.writeBigUInt64BE(BigInt(time));
  return token;
}

export function decodeResumeToken(token: Uint8Array): Micros {
  if (token.length !== tokenBytes) throw invalid('The resume token is not one of ours.');
  return Number(Buffer.from(token).readBigUInt64BE());
}
