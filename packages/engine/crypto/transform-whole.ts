import type { Transform } from 'node:stream';
import { finished } from 'node:stream/promises';
import { freeBytes } from '../memory/free-bytes.ts';

/**
 * The whole output of a compressor or decompressor for one input, as one piece. When zlib has room for all of it, its
 * pieces lie one after the other in the same memory and are used in place. Its own one-call functions copy them
 * instead, for every segment of every backup.
 */
export async function transformWhole(
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
