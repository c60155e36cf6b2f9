import { BufferPool, SegmentCodec, segmentBufferBytes } from '@holdfast/engine';
import type { CpuTurns } from '../../../platform/cpu-turns.ts';

/** Turns and buffers of this process, shared by all its backups, so that memory stays bounded however many run. */
export class EngineResources {
  readonly codec: SegmentCodec;
  readonly buffers: BufferPool;

  constructor(rangesAtOnce: number, cpuTurns: CpuTurns) {
    this.codec = new SegmentCodec({ isSomebodyWaiting: () => cpuTurns.hasCalls });
    this.buffers = new BufferPool(rangesAtOnce + 4, segmentBufferBytes);
  }
}
