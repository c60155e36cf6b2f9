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
 * Bounds how many segments are compressed, sealed or opened at the same time, over everything that shares the pool. The
 * work itself runs on the platform's threads; each piece needs a few times its size in memory, hence the bound.
 */
export class SegmentCodec {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(atOnce = Math.min(atOnceMax, Math.max(2, availableParallelism()))) {
    this.#free = atOnce;
  }

  async seal(
    data: Uint8Array,
    position: SegmentPosition,
    context: SealContext,
    summary?: RecordSummary,
  ): Promise<SealedSegment> {
    return await this.#inTurn(() => sealSegment(data, position, context, summary));
  }

  async open(bytes: Uint8Array, descriptor: SegmentDescriptor, context: SealContext): Promise<OpenedSegment> {
    return await this.#inTurn(() => openSegment(bytes, descriptor, context));
  }

  async openIndex(bytes: Uint8Array, descriptor: SegmentDescriptor, context: SealContext): Promise<Uint8Array> {
    return await this.#inTurn(() => openSegmentIndex(bytes, descriptor, context));
  }

  async #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next !== undefined) next();
      else this.#free += 1;
    }
  }
}
