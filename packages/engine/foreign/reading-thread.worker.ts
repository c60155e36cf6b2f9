import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import type { UnsortedRecord } from '../pipeline/view/sorted-runs.ts';
import { isEngineError } from '../ports/errors.ts';
import { entityRecord } from './entity.ts';
import type { Piece, ReadingMessage, ReadingSource, ReadingTask } from './reading-thread.ts';
import { readVersion1Json } from './version1-json.ts';

/** The thread of `readInThread`. It may block: nobody else is on it. */
const { task, source } = workerData as { task: ReadingTask; source: ReadingSource };
const batchBytes = 1024 * 1024;

let batch: { path: string; body: Uint8Array }[] = [];
let bytes = 0;

function tell(message: ReadingMessage): void {
  parentPort?.postMessage(message);
}

function flush(): void {
  if (batch.length > 0) tell({ type: 'records', records: batch });
  batch = [];
  bytes = 0;
}

function nextPiece(): Piece {
  flush();
  tell({ type: 'more' });
  for (;;) {
    const seen = Atomics.load(source.turn, 0);
    const received = receiveMessageOnPort(source.port);
    if (received) return received.message as Piece;
    Atomics.wait(source.turn, 0, seen);
  }
}

function* records(): Generator<UnsortedRecord> {
  if (task.format === 'json') {
    const piece = () => (nextPiece() as Uint8Array | null) ?? undefined;
    return yield* readVersion1Json(piece, task.key, task.database);
  }
  for (let piece = nextPiece(); piece !== null; piece = nextPiece())
    for (const record of piece as Uint8Array[]) yield entityRecord(record, task.database);
}

try {
  for (const { path, body } of records()) {
    batch.push({ path, body });
    bytes += body.length + path.length;
    if (bytes >= batchBytes) flush();
  }
  flush();
  tell({ type: 'done' });
} catch (error) {
  const isRefusal = isEngineError(error, 'VALIDATION_ERROR') || isEngineError(error, 'INTEGRITY_ERROR');
  if (!isRefusal) throw error;
  tell({ type: 'failed', code: error.code as 'VALIDATION_ERROR' | 'INTEGRITY_ERROR', message: error.message });
}
