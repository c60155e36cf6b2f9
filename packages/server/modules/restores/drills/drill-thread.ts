import { Worker } from 'node:worker_threads';
import type { Digests, PieceToCompare } from './compare-values.ts';

type Wish = { readonly drill: number } & (
  | { readonly type: 'open' | 'close' | 'beginComparison' | 'digests' | 'endComparison' }
  | { readonly type: 'clear'; readonly database: { project: string; database: string } }
  | { readonly type: 'compare'; readonly piece: PieceToCompare }
);

/** What the thread is asked to do with one of its scratch databases or comparisons. */
export type DrillOrder = Wish & { readonly number: number };

export type DrillAnswer = { readonly number: number } & ({ readonly result: unknown } | { readonly failure: string });

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** One comparison, on the thread of the drills. */
export interface ComparingThread {
  /** The positions of the documents that differ. */
  compare(piece: PieceToCompare): Promise<number[]>;
  digests(): Promise<Digests>;
}

/**
 * The thread is kept this long: one drill is often followed by another, and loading a Firestore takes longer than a
 * small drill.
 */
const idleMs = 10_000;

/**
 * One thread for all drills of the process, while there are any. It holds the scratch databases and compares values:
 * storing, reading and hashing tens of thousands of documents must not slow down the thread that answers calls.
 */
class DrillThread {
  #worker: Worker | undefined;
  #users = 0;
  #number = 0;
  #idle: NodeJS.Timeout | undefined;
  readonly #waiting = new Map<number, Waiting>();

  /** Returns the number of a new scratch database and its address. */
  async open(): Promise<{ scratch: number; address: string }> {
    const scratch = this.#come();
    try {
      return { scratch, address: (await this.#ask({ type: 'open', drill: scratch })) as string };
    } catch (error) {
      this.#leave();
      throw error;
    }
  }

  async clear(scratch: number, database: { project: string; database: string }): Promise<void> {
    await this.#ask({ type: 'clear', drill: scratch, database });
  }

  async close(scratch: number): Promise<void> {
    await this.#end({ type: 'close', drill: scratch });
  }

  /** Gives `work` a comparison, which is discarded afterwards. */
  async comparing<Result>(work: (thread: ComparingThread) => Promise<Result>): Promise<Result> {
    const drill = this.#come();
    try {
      await this.#ask({ type: 'beginComparison', drill });
      return await work({
        compare: async (piece) => (await this.#ask({ type: 'compare', drill, piece })) as number[],
        digests: async () => (await this.#ask({ type: 'digests', drill })) as Digests,
      });
    } finally {
      await this.#end({ type: 'endComparison', drill });
    }
  }

  async #end(wish: Wish): Promise<void> {
    try {
      // If the thread died, everything on it is gone already.
      if (this.#worker) await this.#ask(wish).catch(() => undefined);
    } finally {
      this.#leave();
    }
  }

  #come(): number {
    clearTimeout(this.#idle);
    this.#users += 1;
    return ++this.#number;
  }

  #leave(): void {
    this.#users -= 1;
    if (this.#users > 0) return;
    this.#worker?.unref();
    this.#idle = setTimeout(() => this.#stop(), idleMs).unref();
  }

  #stop(): void {
    const worker = this.#worker;
    this.#worker = undefined;
    void worker?.terminate();
  }

  #ask(wish: Wish): Promise<unknown> {
    const worker = this.#worker ?? this.#start();
    worker.ref();
    const number = ++this.#number;
    return new Promise<unknown>((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject });
      const order: DrillOrder = { ...wish, number };
      worker.postMessage(order, wish.type === 'compare' ? [wish.piece.bytes.buffer, wish.piece.lengths.buffer] : []);
    });
  }

  #start(): Worker {
    const worker = new Worker(new URL('./drill-thread.worker.ts', import.meta.url));
    this.#worker = worker;
    worker.on('message', (answer: DrillAnswer) => {
      const waiting = this.#waiting.get(answer.number);
      this.#waiting.delete(answer.number);
      if ('failure' in answer) waiting?.reject(new Error(answer.failure));
      else waiting?.resolve(answer.result);
    });
    worker.on('error', (error) => this.#ended(worker, error));
    worker.on('exit', () => this.#ended(worker, new Error('the thread of the drills ended')));
    return worker;
  }

  /** Waiting drills fail and are tried again on a new thread. */
  #ended(worker: Worker, error: Error): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

export const drillThread = new DrillThread();
