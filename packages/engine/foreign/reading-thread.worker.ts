import { getHeapStatistics } from 'node:v8';
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import type { UnsortedRecord } from '../pipeline/view/sorted-runs.ts';
import { isEngineError } from '../ports/errors.ts';
import { lowerThreadPriority } from '../time/lower-thread-priority.ts';
import { entityRecord } from './entity.ts';
import { readExportedLines } from './exported-lines.ts';
import { RecordAssembler } from './leveldb-log.ts';
import type { LogPiece } from './managed-export.ts';
import type { Piece, ReadingMessage, ReadingSource, ReadingTask } from './reading-thread.ts';
import { readVersion1Json } from './version1-json.ts';

/** The thread of `readInThread`: reads one file after another. It may block, because nothing else runs on it. */
const { port, turn } = workerData as ReadingSource;
const batchBytes = 1024 * 1024;
lowerThreadPriority();

let bodies: Uint8Array[] = [];
let paths: string[] = [];
let ends: number[] = [];
let bytes = 0;
let pathBytes = 0;

function tell(message: ReadingMessage, transfer: readonly ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, transfer);
}

function heapBytes(): number {
  return getHeapStatistics().total_heap_size;
}

function add({ path, body }: UnsortedRecord): void {
  bytes += body.length;
  pathBytes += path.length;
  bodies.push(body);
  paths.push(path);
  ends.push(bytes);
  if (bytes + pathBytes >= batchBytes) flush();
}

function flush(): void {
  if (paths.length > 0) {
    const packed = new Uint8Array(bytes);
    for (const [index, body] of bodies.entries()) packed.set(body, ends[index]! - body.length);
    tell({ type: 'records', bytes: packed, paths, ends }, [packed.buffer]);
  }
  forget();
}

function forget(): void {
  bodies = [];
  paths = [];
  ends = [];
  bytes = 0;
  pathBytes = 0;
}

/** Waits for the next message, however long that takes. */
function receive(): unknown {
  for (;;) {
    const seen = Atomics.load(turn, 0);
    const received = receiveMessageOnPort(port);
    if (received) return received.message;
    Atomics.wait(turn, 0, seen);
  }
}

function nextPiece(): Piece {
  flush();
  tell({ type: 'more' });
  return receive() as Piece;
}

const readers = { json: readVersion1Json, ndjson: readExportedLines, 'firestore-export': undefined } as const;

function* recordsOf({ format, key, database }: ReadingTask): Generator<UnsortedRecord> {
  const read = readers[format];
  if (read) {
    const piece = () => (nextPiece() as Uint8Array | null) ?? undefined;
    return yield* read(piece, key, database, (text) => tell({ type: 'warning', text }));
  }
  for (const { file, record } of logRecords()) yield entityRecord(record, database, file);
}

/** The records of all files of the export; no file may end inside a record. */
function* logRecords(): Generator<{ file: string; record: Uint8Array }> {
  let assembler: RecordAssembler | undefined;
  for (let piece = nextPiece() as LogPiece | null; piece !== null; piece = nextPiece() as LogPiece | null) {
    assembler ??= new RecordAssembler(piece.key);
    for (const record of assembler.records(piece.bytes)) yield { file: piece.key, record };
    if (!piece.isLast) continue;
    assembler.assertFinished();
    assembler = undefined;
  }
}

function perform(task: ReadingTask): void {
  try {
    for (const record of recordsOf(task)) add(record);
    flush();
    tell({ type: 'done', heapBytes: heapBytes() });
  } catch (error) {
    const isRefusal = isEngineError(error, 'VALIDATION_ERROR') || isEngineError(error, 'INTEGRITY_ERROR');
    if (!isRefusal) throw error;
    forget();
    const code = error.code as 'VALIDATION_ERROR' | 'INTEGRITY_ERROR';
    tell({ type: 'failed', code, message: error.message, heapBytes: heapBytes() });
  }
}

for (;;) perform(receive() as ReadingTask);
