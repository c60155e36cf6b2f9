import type { SegmentDescriptor } from '../format/descriptor.ts';
import {
  type OpenedSegment,
  openSegment,
  openSegmentIndex,
  type SealContext,
  type SegmentPosition,
  sealSegment,
} from '../format/segment.ts';
import { EngineError, type EngineErrorCode } from '../ports/errors.ts';

/** The messages between the pool and its threads. */
export type SealJob =
  | {
      readonly kind: 'seal';
      readonly buffer: ArrayBuffer;
      readonly length: number;
      readonly position: SegmentPosition;
      readonly context: SealContext;
    }
  | {
      readonly kind: 'open' | 'open-index';
      readonly bytes: Uint8Array;
      readonly descriptor: SegmentDescriptor;
      readonly context: SealContext;
    };

export interface SealResult {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly descriptor: SegmentDescriptor;
  readonly collections: ReadonlyMap<string, number>;
  /** The plaintext's buffer comes back for the next segment. */
  readonly buffer: ArrayBuffer;
}

export type JobResult = SealResult | OpenedSegment | Uint8Array;

/** Errors lose their class between threads; this is what remains of one. */
export interface PlainError {
  readonly code: EngineErrorCode | undefined;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly stack: string | undefined;
}

export function runJob(job: SealJob): JobResult {
  if (job.kind === 'seal') {
    const data = new Uint8Array(job.buffer, 0, job.length);
    return { ...sealSegment(data, job.position, job.context), buffer: job.buffer };
  }
  if (job.kind === 'open') return openSegment(job.bytes, job.descriptor, job.context);
  return openSegmentIndex(job.bytes, job.descriptor, job.context);
}

/** What moves to the other thread instead of being copied; only buffers that belong to nobody else. */
export function transferables(result: JobResult): ArrayBuffer[] {
  if (result instanceof Uint8Array) return exclusive([result]);
  if ('buffer' in result) return [result.bytes.buffer, result.buffer];
  return exclusive([result.data, result.index]);
}

function exclusive(arrays: readonly Uint8Array[]): ArrayBuffer[] {
  const whole = arrays.filter(
    ({ buffer, byteLength }) => buffer instanceof ArrayBuffer && buffer.byteLength === byteLength,
  );
  return [...new Set(whole.map(({ buffer }) => buffer as ArrayBuffer))];
}

export function toPlainError(error: unknown): PlainError {
  const isOurs = error instanceof EngineError;
  return {
    code: isOurs ? error.code : undefined,
    message: error instanceof Error ? error.message : String(error),
    details: isOurs ? error.details : {},
    stack: error instanceof Error ? error.stack : undefined,
  };
}

export function fromPlainError(plain: PlainError): Error {
  if (plain.code !== undefined) return new EngineError(plain.code, plain.message, { details: { ...plain.details } });
  const error = new Error(plain.message);
  if (plain.stack !== undefined) error.stack = plain.stack;
  return error;
}
