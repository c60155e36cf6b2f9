import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import type { UnsortedRecord } from '../pipeline/view/sorted-runs.ts';
import { EngineError, throwIfCancelled } from '../ports/errors.ts';
import { recordKind } from '../ports/record.ts';

/** What a thread is started with. */
export interface ReadingTask {
  readonly format: 'firestore-export' | 'json';
  /** The file, as errors name it. */
  readonly key: string;
  readonly database: string;
}

/** What it reads from and waits on. */
export interface ReadingSource {
  readonly port: MessagePort;
  /** Raised and woken whenever something was put into the port. */
  readonly turn: Int32Array;
}

/** A piece of the file, some records of a log, or the end. */
export type Piece = Uint8Array | Uint8Array[] | null;

export type ReadingMessage =
  | { readonly type: 'more' }
  | { readonly type: 'records'; readonly records: { path: string; body: Uint8Array }[] }
  | { readonly type: 'failed'; readonly code: 'VALIDATION_ERROR' | 'INTEGRITY_ERROR'; readonly message: string }
  | { readonly type: 'done' };

/** A file that takes more than this is not read; everything else of the process goes on. */
const resourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 };

/**
 * Reads foreign content on a thread of its own, piece by piece: whatever a file is made of, nobody else waits for it, and
 * the thread's memory is bounded. The thread asks for the next piece when what it read from the last one was taken.
 */
export async function* readInThread(
  task: ReadingTask,
  pieces: AsyncIterable<Exclude<Piece, null>>,
  signal: AbortSignal | undefined,
): AsyncGenerator<UnsortedRecord> {
  const { port1, port2 } = new MessageChannel();
  const turn = new Int32Array(new SharedArrayBuffer(4));
  const thread = new Worker(new URL('./reading-thread.worker.ts', import.meta.url), {
    workerData: { task, source: { port: port2, turn } satisfies ReadingSource },
    transferList: [port2],
    resourceLimits,
  });
  const inbox = new Inbox(thread, task.key, signal);
  const given = pieces[Symbol.asyncIterator]();
  try {
    for (;;) {
      const message = await inbox.next();
      throwIfCancelled(signal);
      if (message.type === 'done') return;
      if (message.type === 'failed') throw new EngineError(message.code, message.message);
      if (message.type === 'records') {
        for (const { path, body } of message.records) yield { kind: recordKind.put, path, body };
        continue;
      }
      const next = await given.next();
      port1.postMessage(next.done ? null : next.value);
      Atomics.add(turn, 0, 1);
      Atomics.notify(turn, 0);
    }
  } finally {
    inbox.close();
    port1.close();
    await given.return?.();
    await thread.terminate();
  }
}

/** Messages of a thread one after another. The end of the thread is an error whoever waits is told. */
class Inbox {
  readonly #messages: ReadingMessage[] = [];
  readonly #signal: AbortSignal | undefined;
  readonly #onAbort = () => this.#wake?.();
  #failure: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(thread: Worker, key: string, signal: AbortSignal | undefined) {
    this.#signal = signal;
    thread.on('message', (message: ReadingMessage) => {
      this.#messages.push(message);
      this.#wake?.();
    });
    thread.on('error', (error: NodeJS.ErrnoException) => this.#fail(isOutOfMemory(error) ? tooLarge(key) : error));
    thread.on('exit', () => this.#fail(new Error('the thread that read a file ended')));
    signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  async next(): Promise<ReadingMessage> {
    for (;;) {
      throwIfCancelled(this.#signal);
      const message = this.#messages.shift();
      if (message) return message;
      if (this.#failure) throw this.#failure;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  close(): void {
    this.#signal?.removeEventListener('abort', this.#onAbort);
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#wake?.();
  }
}

function isOutOfMemory(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ERR_WORKER_OUT_OF_MEMORY';
}

function tooLarge(key: string): EngineError {
  return new EngineError('VALIDATION_ERROR', `${key} is refused: what it holds at once takes too much memory.`);
}
