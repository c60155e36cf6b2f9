import { availableParallelism } from 'node:os';
import type { SegmentDescriptor } from '../../format/descriptor.ts';
import type { RecordSummary } from '../../format/index-build.ts';
import {
  type OpenedSegment,
  openSegment,
  openSegmentIndex,
  type SealContext,
  type SealedSegment,
  type SegmentPosition,
  sealSegment,
} from '../../format/segment.ts';

const atOnceMax = 4;

/**
 * Limits how many segments are compressed, sealed or opened at the same time, for everything that shares the codec. The
 * work runs on the platform's threads; each segment needs a few times its size in memory.
 */
export class SegmentCodec {
  readonly #turns: Turns;
  readonly #sealTurns: Turns;

  /** While a user waits for an answer, sealing leaves a core free for that. */
  constructor({ isSomebodyWaiting = () => false }: { readonly isSomebodyWaiting?: () => boolean } = {}) {
    const atOnce = Math.min(atOnceMax, Math.max(2, availableParallelism()));
    this.#turns = new Turns(() => atOnce);
    this.#sealTurns = new Turns(() => (isSomebodyWaiting() ? atOnce - 1 : atOnce));
  }

  async seal(
    data: Uint8Array,
    position: SegmentPosition,
    context: SealContext,
    summary?: RecordSummary,
  ): Promise<SealedSegment> {
    return await this.#sealTurns.run(() => this.#turns.run(() => sealSegment(data, position, context, summary)));
  }

  async open(bytes: Uint8Array, descriptor: SegmentDescriptor, context: SealContext): Promise<OpenedSegment> {
    return await this.#turns.run(() => openSegment(bytes, descriptor, context));
  }

  async openIndex(bytes: Uint8Array, descriptor: SegmentDescriptor, context: SealContext): Promise<Uint8Array> {
    return await this.#turns.run(() => openSegmentIndex(bytes, descriptor, context));
  }
}

/** Lets a limited number run at a time, in the order in which they came. */
class Turns {
  readonly #atOnce: () => number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(atOnce: () => number) {
    this.#atOnce = atOnce;
  }

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    const mayBegin = this.#waiting.length === 0 && this.#running < this.#atOnce();
    if (mayBegin) this.#running += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      this.#running -= 1;
      this.#letIn();
    }
  }

  #letIn(): void {
    while (this.#waiting.length > 0 && this.#running < this.#atOnce()) {
      this.#running += 1;
      this.#waiting.shift()?.();
    }
  }
}
