import type { BlobStore, CallOptions } from '../ports/blob-store.ts';
import { EngineError } from '../ports/errors.ts';
import { maskedCrc32c } from '../stores/crc32c.ts';

/**
 * A LevelDB log: blocks of 32 KiB; in each block fragments of `crc (u32) | length (u16) | type (u8) | payload`; a record
 * is one FULL fragment, or FIRST, any MIDDLE, LAST. Fewer than seven bytes at the end of a block are padding.
 */
export const logBlockBytes = 32 * 1024;
export const fragmentHeaderBytes = 7;
export const fragmentType = { padding: 0, full: 1, first: 2, middle: 3, last: 4 } as const;

const blocksPerRead = 64;
/** Documents have at most 1 MiB; an entity of several MiB is not a document. */
const recordBytesMax = 4 * 1024 * 1024;

/** A record has one fragment for every block it touches, and one more. */
const fragmentsPerRecordMax = recordBytesMax / logBlockBytes + 2;

/** Yields the blocks of a log in a store, some at a time. */
export async function* readLogPieces(
  store: BlobStore,
  key: string,
  size: number,
  options: CallOptions = {},
): AsyncGenerator<Uint8Array> {
  for (let offset = 0; offset < size; offset += logBlockBytes * blocksPerRead)
    yield await store.getRange(key, offset, Math.min(logBlockBytes * blocksPerRead, size - offset), options);
}

/** The records of a log, read in pieces of some MiB. Anything that is not whole is an error. */
export async function* readLogRecords(
  store: BlobStore,
  key: string,
  size: number,
  options: CallOptions = {},
): AsyncGenerator<Uint8Array> {
  const assembler = new RecordAssembler(key);
  for await (const piece of readLogPieces(store, key, size, options)) yield* assembler.records(piece);
  assembler.assertFinished();
}

/** Puts records together from the fragments of one log. */
export class RecordAssembler {
  readonly #key: string;
  #parts: Uint8Array[] = [];
  #bytes = 0;
  #records = 0;

  constructor(key: string) {
    this.#key = key;
  }

  /** The records that end in this piece, which begins and ends where blocks do. */
  *records(piece: Uint8Array): Generator<Uint8Array> {
    for (let at = 0; at < piece.length; at += logBlockBytes)
      yield* this.#recordsOf(piece.subarray(at, at + logBlockBytes));
  }

  /** Throws for a file without records: one that only has padding was overwritten. */
  assertFinished(): void {
    if (this.#parts.length > 0 || this.#records === 0) throw this.#damaged();
  }

  *#recordsOf(block: Uint8Array): Generator<Uint8Array> {
    const view = new DataView(block.buffer, block.byteOffset, block.length);
    let position = 0;
    while (block.length - position >= fragmentHeaderBytes) {
      const length = view.getUint16(position + 4, true);
      const type = view.getUint8(position + 6);
      if (type === fragmentType.padding && length === 0) return;
      const payload = block.subarray(position + fragmentHeaderBytes, position + fragmentHeaderBytes + length);
      if (payload.length !== length || maskedCrc32c(type, payload) !== view.getUint32(position, true))
        throw this.#damaged();
      const record = this.#add(type, payload);
      if (record !== undefined) yield record;
      position += fragmentHeaderBytes + length;
    }
    if (block.subarray(position).some((byte) => byte !== 0)) throw this.#damaged();
  }

  #add(type: number, payload: Uint8Array): Uint8Array | undefined {
    const isBeginning = type === fragmentType.full || type === fragmentType.first;
    if (type > fragmentType.last || isBeginning !== (this.#parts.length === 0)) throw this.#damaged();
    this.#parts.push(payload);
    this.#bytes += payload.length;
    if (this.#bytes > recordBytesMax || this.#parts.length > fragmentsPerRecordMax) throw this.#damaged();
    if (type === fragmentType.first || type === fragmentType.middle) return undefined;
    const record = this.#parts.length === 1 ? payload : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#bytes = 0;
    this.#records += 1;
    return record;
  }

  #damaged(): EngineError {
    return new EngineError('INTEGRITY_ERROR', `The export file ${this.#key} is damaged or cut short.`);
  }
}
