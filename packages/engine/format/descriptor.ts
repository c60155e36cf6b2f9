import { EngineError } from '../ports/errors.ts';
import type { SegmentContent } from './segment-header.ts';

/** What a manifest says about a segment. Plain JSON: workers pass it to whoever writes the manifest. */
export interface SegmentDescriptor {
  readonly id: string;
  readonly content: SegmentContent;
  readonly range: number;
  readonly sequence: number;
  readonly records: number;
  readonly puts: number;
  readonly deletes: number;
  readonly firstPath: string;
  readonly lastPath: string;
  readonly headerBytes: number;
  readonly indexBytes: number;
  readonly dataBytes: number;
  readonly plainBytes: number;
  readonly sha256: string;
}

export function storedBytesOf(descriptor: SegmentDescriptor): number {
  return descriptor.headerBytes + descriptor.indexBytes + descriptor.dataBytes;
}

const countFields = [
  'content',
  'range',
  'sequence',
  'records',
  'puts',
  'deletes',
  'headerBytes',
  'indexBytes',
  'dataBytes',
  'plainBytes',
] as const;

const isHex = (value: unknown, digits: number) =>
  typeof value === 'string' && value.length === digits && /^[0-9a-f]+$/.test(value);

/** Descriptors come back from databases and from manifests; both are checked the same way. */
export function parseDescriptor(given: unknown): SegmentDescriptor {
  const descriptor = given as Record<keyof SegmentDescriptor, unknown>;
  const isWhole =
    typeof descriptor === 'object' &&
    descriptor !== null &&
    isHex(descriptor.id, 32) &&
    isHex(descriptor.sha256, 64) &&
    typeof descriptor.firstPath === 'string' &&
    typeof descriptor.lastPath === 'string' &&
    countFields.every((field) => Number.isSafeInteger(descriptor[field]) && Number(descriptor[field]) >= 0) &&
    descriptor.records === Number(descriptor.puts) + Number(descriptor.deletes);
  if (!isWhole) throw new EngineError('INTEGRITY_ERROR', 'A segment descriptor is damaged.');
  return given as SegmentDescriptor;
}
