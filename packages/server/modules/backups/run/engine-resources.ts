import { BufferPool, SegmentCodec, segmentBufferBytes } from '@holdfast/engine';

/** Turns and buffers of this process, shared by all its backups, so that memory stays bounded however many run. */
export class EngineResources {
  readonly codec = new SegmentCodec();
  readonly buffers: BufferPool;

  constructor(rangesAtOnce: number) {
    this.buffers = new BufferPool(rangesAtOnce + 4, segmentBufferBytes);
  }
}
