import type { Transform } from 'node:stream';
import { finished } from 'node:stream/promises';
import { freeBytes } from '../memory/free-bytes.ts';

/**
 * Everything that comes out of a compressor or decompressor for one input, in one piece. Given room for all of it, zlib
 * puts its pieces one behind the other into the same memory, and they are taken as they lie; its own one-call functions
 * copy them instead and leave the first memory to the collector, for every segment of every backup.
 */
export async function runThrough(
  stream: Transform,
  input: Uint8Array,
  lengthMax = Number.POSITIVE_INFINITY,
): Promise<Uint8Array> {
  const pieces: Buffer[] = [];
  let length = 0;
  stream.on('data', (piece: Buffer) => {
    length += piece.length;
    if (length > lengthMax) stream.destroy(new RangeError('There is more than it may be.'));
    else pieces.push(piece);
  });
  stream.end(input);
  await finished(stream);
  return inOnePiece(pieces, length);
}

function inOnePiece(pieces: readonly Buffer[], length: number): Uint8Array {
  const first = pieces[0];
  if (first === undefined) return new Uint8Array(0);
  let end = first.byteOffset;
  const isOnePiece = pieces.every((piece) => {
    const isNext = piece.buffer === first.buffer && piece.byteOffset === end;
    end += piece.length;
    return isNext;
  });
  if (isOnePiece) return new Uint8Array(first.buffer, first.byteOffset, length);
  const whole = Buffer.concat(pieces);
  for (const piece of pieces) freeBytes(piece);
  return whole;
}
