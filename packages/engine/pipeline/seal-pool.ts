import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { SegmentDescriptor } from '../format/descriptor.ts';
import type { OpenedSegment, SealContext, SegmentPosition } from '../format/segment.ts';
import { fromPlainError, type JobResult, type PlainError, runJob, type SealJob, type SealResult } from './seal-jobs.ts';

interface PendingJob {
  readonly job: SealJob;
  readonly resolve: (result: JobResult) => void;
  readonly reject: (error: unknown) => void;
}

interface PoolThread {
  readonly worker: Worker;
  current: PendingJob | undefined;
}

const threadsMax = 4;

/**
 * Compresses, seals and opens segments on threads, so that the main thread only moves bytes. Threads start with the first
 * job. With no threads, jobs run in place: right for a few small segments, where starting a thread would cost more.
 */
export class SealPool {
  readonly size: number;
  readonly #threads: PoolThread[] = [];
  readonly #waiting: PendingJob[] = [];
  #isClosed = false;

  constructor(size = Math.min(threadsMax, Math.max(1, availableParallelism() - 1))) {
    this.size = size;
  }

  /** Takes `buffer` over; it comes back in the result. */
  async seal(
    buffer: ArrayBuffer,
    length: number,
    position: SegmentPosition,
    context: SealContext,
  ): Promise<SealResult> {
    return (await this.#run({ kind: 'seal', buffer, length, position, context })) as SealResult;
  }

  async open(bytes: Uint8Array, descriptor: SegmentDescriptor, context: SealContext): Promise<OpenedSegment> {
    return (await this.#run({ kind: 'open', bytes, descriptor, context })) as OpenedSegment;
  }

  async openIndex(bytes: Uint8Array, descriptor: SegmentDescriptor, context: SealContext): Promise<Uint8Array> {
    return (await this.#run({ kind: 'open-index', bytes, descriptor, context })) as Uint8Array;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#threads.splice(0).map(({ worker }) => worker.terminate()));
  }

  async #run(job: SealJob): Promise<JobResult> {
    if (this.#isClosed) throw new Error('The seal pool is closed.');
    if (this.size === 0) return runJob(job);
    return await new Promise<JobResult>((resolve, reject) => {
      this.#waiting.push({ job, resolve, reject });
      this.#dispatch();
    });
  }

  #dispatch(): void {
    let idle = this.#threads.find(({ current }) => current === undefined);
    if (idle === undefined && this.#threads.length < this.size) idle = this.#start();
    if (idle === undefined) return;
    const next = this.#waiting.shift();
    if (next === undefined) return;
    idle.current = next;
    idle.worker.ref();
    const transfer = next.job.kind === 'seal' ? [next.job.buffer] : [];
    idle.worker.postMessage({ job: next.job }, transfer);
  }

  #start(): PoolThread {
    const worker = new Worker(new URL('./seal-worker.ts', import.meta.url));
    const thread: PoolThread = { worker, current: undefined };
    worker.unref();
    worker.on('message', ({ result, error }: { result?: JobResult; error?: PlainError }) => {
      const done = this.#release(thread);
      if (error !== undefined) done?.reject(fromPlainError(error));
      else done?.resolve(result!);
      this.#dispatch();
    });
    worker.on('error', (error) => this.#lose(thread, error));
    worker.on('exit', () => this.#lose(thread, new Error('A seal thread ended.')));
    this.#threads.push(thread);
    return thread;
  }

  #release(thread: PoolThread): PendingJob | undefined {
    const done = thread.current;
    thread.current = undefined;
    thread.worker.unref();
    return done;
  }

  /** A thread that died takes its job with it; the next job starts another. */
  #lose(thread: PoolThread, error: Error): void {
    const index = this.#threads.indexOf(thread);
    if (index >= 0) this.#threads.splice(index, 1);
    thread.current?.reject(error);
    thread.current = undefined;
    if (!this.#isClosed && this.#waiting.length > 0) this.#dispatch();
  }
}
