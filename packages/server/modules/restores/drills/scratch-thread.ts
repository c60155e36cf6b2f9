import { Worker } from 'node:worker_threads';

/** What the thread is asked to do with one of its scratch databases. */
export type ScratchOrder = { readonly number: number; readonly scratch: number } & (
  | { readonly type: 'open' | 'close' }
  | { readonly type: 'clear'; readonly database: { project: string; database: string } }
);

export type ScratchAnswer = { readonly number: number } & ({ readonly address: string } | { readonly failure: string });

type Wish = ScratchOrder extends infer One ? (One extends ScratchOrder ? Omit<One, 'number'> : never) : never;

interface Waiting {
  resolve(address: string): void;
  reject(error: Error): void;
}

/** Somebody who runs one drill often runs another; loading a Firestore takes longer than a small drill. */
const idleMs = 10_000;

/**
 * Scratch databases live on a thread of their own: storing and reading back tens of thousands of documents is a lot of
 * work, and the thread that answers calls has none of it. One thread for all drills of the process, while there are any.
 */
class ScratchThread {
  #worker: Worker | undefined;
  #scratches = 0;
  #number = 0;
  #idle: NodeJS.Timeout | undefined;
  readonly #waiting = new Map<number, Waiting>();

  /** Answers with the number of a new scratch database and where it listens. */
  async open(): Promise<{ scratch: number; address: string }> {
    clearTimeout(this.#idle);
    this.#scratches += 1;
    const scratch = ++this.#number;
    try {
      return { scratch, address: await this.#ask({ type: 'open', scratch }) };
    } catch (error) {
      this.#gone();
      throw error;
    }
  }

  async clear(scratch: number, database: { project: string; database: string }): Promise<void> {
    await this.#ask({ type: 'clear', scratch, database });
  }

  async close(scratch: number): Promise<void> {
    try {
      // What is on a thread that died is gone already.
      if (this.#worker) await this.#ask({ type: 'close', scratch }).catch(() => undefined);
    } finally {
      this.#gone();
    }
  }

  #gone(): void {
    this.#scratches -= 1;
    if (this.#scratches > 0) return;
    this.#worker?.unref();
    this.#idle = setTimeout(() => this.#end(), idleMs).unref();
  }

  #end(): void {
    const worker = this.#worker;
    this.#worker = undefined;
    void worker?.terminate();
  }

  #ask(wish: Wish): Promise<string> {
    const worker = this.#worker ?? this.#start();
    worker.ref();
    const number = ++this.#number;
    return new Promise<string>((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject });
      worker.postMessage({ ...wish, number });
    });
  }

  #start(): Worker {
    const worker = new Worker(new URL('./scratch-thread.worker.ts', import.meta.url));
    this.#worker = worker;
    worker.on('message', (answer: ScratchAnswer) => {
      const waiting = this.#waiting.get(answer.number);
      this.#waiting.delete(answer.number);
      if ('failure' in answer) waiting?.reject(new Error(answer.failure));
      else waiting?.resolve(answer.address);
    });
    worker.on('error', (error) => this.#ended(worker, error));
    worker.on('exit', () => this.#ended(worker, new Error('the thread of the scratch databases ended')));
    return worker;
  }

  /** Drills that wait for it fail and are tried again, on a new thread. */
  #ended(worker: Worker, error: Error): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

export const scratchThread = new ScratchThread();
