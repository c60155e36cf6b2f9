import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { freeBytes } from '../memory/free-bytes.ts';
import type { UnsortedRecord } from '../pipeline/view/sorted-runs.ts';
import { EngineError, throwIfCancelled } from '../ports/errors.ts';
import { recordKind } from '../ports/record.ts';
import type { LogPiece } from './managed-export.ts';

/** What a thread is started with. */
export interface ReadingTask {
  readonly format: 'firestore-export' | 'json' | 'ndjson';
  /** The name of the file in errors. */
  readonly key: string;
  readonly database: string;
}

/** What the thread reads from and waits for. */
export interface ReadingSource {
  readonly port: MessagePort;
  /** Incremented and notified whenever a message was sent to the port. */
  readonly turn: Int32Array;
}

/** A piece of the file, or of one of the files, or the end. */
export type Piece = Uint8Array | LogPiece | null;

/** Many small bodies in one buffer: each in its own would take many times its length. */
export interface PackedRecords {
  readonly bytes: Uint8Array;
  readonly paths: readonly string[];
  /** Where the body of each path ends in the bytes. */
  readonly ends: readonly number[];
}

export type ReadingMessage =
  | { readonly type: 'more' }
  | { readonly type: 'warning'; readonly text: string }
  | ({ readonly type: 'records' } & PackedRecords)
  | {
      readonly type: 'failed';
      readonly code: 'VALIDATION_ERROR' | 'INTEGRITY_ERROR';
      readonly message: string;
      readonly heapBytes: number;
    }
  | { readonly type: 'done'; readonly heapBytes: number };

/** A file that needs more memory than this is refused; everything else in the process goes on. */
const resourceLimits = { maxOldGenerationSizeMb: 40, maxYoungGenerationSizeMb: 4, stackSizeMb: 4 };

/**
 * Each thread may use a core and its memory limit. A process imports three files at once, at most two of one
 * organization. So with three threads nobody waits for slow files of others.
 */
const threadsAtOnce = 3;
const idleMs = 5000;
/** A thread whose memory grew beyond this is not kept for the next file. */
const keptHeapBytesMax = 32 * 1024 * 1024;

/**
 * Reads foreign content on a separate thread, piece by piece, with bounded memory: whatever a file holds, nobody else
 * waits for it. The thread requests the next piece when the results of the last one were taken. A group of records is
 * valid until the next one is requested.
 */
export async function* readInThread(
  task: ReadingTask,
  pieces: AsyncIterable<Exclude<Piece, null>>,
  { signal, onWarning }: { signal?: AbortSignal; onWarning?: (text: string) => void },
): AsyncGenerator<Iterable<UnsortedRecord>> {
  const given = pieces[Symbol.asyncIterator]();
  const thread = await threads.take(signal);
  const inbox = new Inbox(thread.worker, task.key, signal);
  let isFree = false;
  try {
    thread.give(task);
    for (;;) {
      const message = await inbox.next();
      throwIfCancelled(signal);
      isFree = 'heapBytes' in message && message.heapBytes <= keptHeapBytesMax;
      if (message.type === 'done') return;
      if (message.type === 'failed') throw new EngineError(message.code, message.message);
      if (message.type === 'warning') onWarning?.(message.text);
      else if (message.type === 'more') {
        const next = await given.next();
        thread.give(next.done ? null : next.value);
      } else {
        yield unpacked(message);
        freeBytes(message.bytes);
      }
    }
  } finally {
    inbox.close();
    await given.return?.();
    await threads.giveBack(thread, isFree);
  }
}

function* unpacked({ bytes, paths, ends }: PackedRecords): Generator<UnsortedRecord> {
  let from = 0;
  for (const [index, path] of paths.entries()) {
    const to = ends[index]!;
    yield { kind: recordKind.put, path, body: bytes.subarray(from, to) };
    from = to;
  }
}

class ReadingThread {
  readonly worker: Worker;
  readonly #port: MessagePort;
  readonly #turn = new Int32Array(new SharedArrayBuffer(4));
  idle: NodeJS.Timeout | undefined;

  constructor() {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.worker = new Worker(new URL('./reading-thread.worker.ts', import.meta.url), {
      workerData: { port: port2, turn: this.#turn } satisfies ReadingSource,
      transferList: [port2],
      resourceLimits,
    });
    port1.unref();
  }

  give(what: ReadingTask | Piece): void {
    this.#port.postMessage(what);
    Atomics.add(this.#turn, 0, 1);
    Atomics.notify(this.#turn, 0);
  }

  async end(): Promise<void> {
    clearTimeout(this.idle);
    this.#port.close();
    await this.worker.terminate();
  }
}

/** A few threads for all imports of the process; idle ones wait a while for the next file. */
class Threads {
  #busy = 0;
  readonly #free: ReadingThread[] = [];
  readonly #waiting: (() => void)[] = [];

  async take(signal: AbortSignal | undefined): Promise<ReadingThread> {
    while (this.#busy >= threadsAtOnce) {
      throwIfCancelled(signal);
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
        signal?.addEventListener('abort', () => resolve(), { once: true });
      });
    }
    throwIfCancelled(signal);
    this.#busy++;
    const thread = this.#free.pop() ?? new ReadingThread();
    clearTimeout(thread.idle);
    thread.worker.ref();
    return thread;
  }

  /** A thread that stopped inside a file, or died, is not reused. */
  async giveBack(thread: ReadingThread, isFree: boolean): Promise<void> {
    if (isFree) {
      this.#free.push(thread);
      thread.worker.unref();
      thread.idle = setTimeout(() => {
        this.#free.splice(this.#free.indexOf(thread), 1);
        void thread.end();
      }, idleMs).unref();
    } else await thread.end();
    this.#busy--;
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

const threads = new Threads();

/** The messages of a thread, one after another. When the thread ends, the waiting reader gets an error. */
class Inbox {
  readonly #messages: ReadingMessage[] = [];
  readonly #thread: Worker;
  // biome-ignore lint/suspicious/noExplicitAny: each event has its own
  readonly #listeners: Record<string, (argument: any) => void>;
  readonly #signal: AbortSignal | undefined;
  readonly #onAbort = () => this.#wake?.();
  #failure: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(thread: Worker, key: string, signal: AbortSignal | undefined) {
    this.#signal = signal;
    this.#thread = thread;
    this.#listeners = {
      message: (message: ReadingMessage) => {
        this.#messages.push(message);
        this.#wake?.();
      },
      error: (error: NodeJS.ErrnoException) => this.#fail(isOutOfMemory(error) ? tooLarge(key) : error),
      exit: () => this.#fail(new Error('the thread that read a file ended')),
    };
    for (const [event, listener] of Object.entries(this.#listeners)) thread.on(event, listener);
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
    for (const [event, listener] of Object.entries(this.#listeners)) this.#thread.off(event, listener);
    // Later errors of the thread concern nobody and must not end the process.
    if (this.#thread.listenerCount('error') === 0) this.#thread.on('error', () => {});
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
