import { randomUUID } from 'node:crypto';
import { createReadStream, mkdirSync, readdirSync, unlinkSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';

/** A run of bytes that never changes once written; an object is a list of them. */
export interface Piece {
  readonly id: string;
  readonly size: number;
}

export interface PieceWriter {
  /** Takes ownership of the bytes. Await it to bound memory in disk mode. */
  write(bytes: Uint8Array): Promise<void> | undefined;
  finish(): Promise<Piece>;
  abort(): Promise<void>;
}

/** Bytes by piece. Pieces are counted: copies share them, and the last release frees them. */
export interface Contents {
  create(): PieceWriter;
  read(piece: Piece, start: number, end: number): AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  retain(piece: Piece): void;
  release(piece: Piece): void;
  /** Frees pieces that nothing retains: leftovers of a process that died between writing bytes and recording them. */
  sweep(): void;
}

class Counts {
  readonly #counts = new Map<string, number>();
  retain(piece: Piece): void {
    this.#counts.set(piece.id, (this.#counts.get(piece.id) ?? 0) + 1);
  }
  /** True when the last holder has released it. */
  release(piece: Piece): boolean {
    const left = (this.#counts.get(piece.id) ?? 0) - 1;
    if (left > 0) this.#counts.set(piece.id, left);
    else this.#counts.delete(piece.id);
    return left <= 0;
  }
  has(id: string): boolean {
    return this.#counts.has(id);
  }
}

/** Smaller pieces are copied into their own buffer, so that a small object does not keep a network buffer alive. */
const smallBytes = 64 * 1024;

export function memoryContents(): Contents {
  const pieces = new Map<string, Uint8Array[]>();
  const counts = new Counts();
  return {
    create() {
      const chunks: Uint8Array[] = [];
      let size = 0;
      return {
        write(bytes) {
          chunks.push(bytes);
          size += bytes.length;
          return undefined;
        },
        async finish() {
          const piece = { id: randomUUID(), size };
          pieces.set(piece.id, size < smallBytes ? [Buffer.concat(chunks)] : chunks);
          counts.retain(piece);
          return piece;
        },
        async abort() {
          chunks.length = 0;
        },
      };
    },
    *read(piece, start, end) {
      let at = 0;
      for (const chunk of pieces.get(piece.id) ?? missing(piece)) {
        const from = Math.max(start - at, 0);
        const to = Math.min(end - at, chunk.length);
        if (from < to) yield from === 0 && to === chunk.length ? chunk : chunk.subarray(from, to);
        at += chunk.length;
        if (at >= end) return;
      }
    },
    retain: (piece) => counts.retain(piece),
    release(piece) {
      if (counts.release(piece)) pieces.delete(piece.id);
    },
    sweep() {
      for (const id of pieces.keys()) if (!counts.has(id)) pieces.delete(id);
    },
  };
}

function missing(piece: Piece): never {
  throw new Error(`piece ${piece.id} was freed while it was still in use`);
}

export function diskContents(folder: string): Contents {
  const dataFolder = join(folder, 'data');
  mkdirSync(dataFolder, { recursive: true });
  const pathOf = (id: string) => join(dataFolder, id);
  const counts = new Counts();
  return {
    create: () => diskWriter(randomUUID(), pathOf, (piece) => counts.retain(piece)),
    read(piece, start, end) {
      if (start >= end) return [];
      return createReadStream(pathOf(piece.id), { start, end: end - 1, highWaterMark: 256 * 1024 });
    },
    retain: (piece) => counts.retain(piece),
    release(piece) {
      if (counts.release(piece)) unlinkSync(pathOf(piece.id));
    },
    sweep() {
      for (const id of readdirSync(dataFolder)) if (!counts.has(id)) unlinkSync(pathOf(id));
    },
  };
}

function diskWriter(id: string, pathOf: (id: string) => string, retain: (piece: Piece) => void): PieceWriter {
  const opened = open(pathOf(id), 'wx');
  opened.catch(() => {});
  let size = 0;
  return {
    async write(bytes) {
      const file = await opened;
      size += bytes.length;
      for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten;
    },
    async finish() {
      await (await opened).close();
      const piece = { id, size };
      retain(piece);
      return piece;
    },
    async abort() {
      const file = await opened.catch(() => undefined);
      if (!file) return;
      await file.close();
      unlinkSync(pathOf(id));
    },
  };
}

/** Reads bytes `start` to `end` (exclusive) of the joined pieces. */
export async function* readPieces(
  contents: Contents,
  pieces: readonly Piece[],
  start: number,
  end: number,
): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (const piece of pieces) {
    const from = Math.max(start - at, 0);
    const to = Math.min(end - at, piece.size);
    if (from < to) yield* contents.read(piece, from, to);
    at += piece.size;
    if (at >= end) return;
  }
}
