import type { SegmentDescriptor } from '../../format/descriptor.ts';
import { decodeIndex, type IndexEntries } from '../../format/index-entries.ts';
import { throwIfCancelled } from '../../ports/errors.ts';
import { nextTurn } from '../../time/turns.ts';
import type { Selection } from './selection.ts';

/** A sorted run of segments: a backup, or the changes of a log up to an instant. */
export interface Layer {
  /** Descriptors, ascending, of the segments that may hold something selected. */
  descriptors(selection: Selection): AsyncIterable<SegmentDescriptor>;
  /** Both reads check everything the descriptor promises and throw INTEGRITY_ERROR otherwise. */
  read(
    descriptor: SegmentDescriptor,
    signal?: AbortSignal,
  ): Promise<{ readonly data: Uint8Array; readonly index: Uint8Array }>;
  readIndex(descriptor: SegmentDescriptor, signal?: AbortSignal): Promise<Uint8Array>;
}

/** `data` is absent when only names were requested. */
export interface LoadedSegment {
  readonly descriptor: SegmentDescriptor;
  readonly entries: IndexEntries;
  readonly data: Uint8Array | undefined;
}

/** Segments in order, the next one loading while the current one is used. */
export async function* loadSegments(
  layer: Layer,
  selection: Selection,
  { namesOnly, signal }: { readonly namesOnly: boolean; readonly signal: AbortSignal | undefined },
): AsyncGenerator<LoadedSegment> {
  let loading: Promise<LoadedSegment> | undefined;
  try {
    for await (const descriptor of layer.descriptors(selection)) {
      throwIfCancelled(signal);
      const next = loadSegment(layer, descriptor, namesOnly, signal);
      next.catch(() => undefined);
      if (loading !== undefined) yield await loading;
      loading = next;
    }
    if (loading !== undefined) yield await loading;
    loading = undefined;
  } finally {
    await loading?.catch(() => undefined);
  }
}

export async function loadSegment(
  layer: Layer,
  descriptor: SegmentDescriptor,
  namesOnly: boolean,
  signal: AbortSignal | undefined,
): Promise<LoadedSegment> {
  const { data, index } = namesOnly
    ? { data: undefined, index: await layer.readIndex(descriptor, signal) }
    : await layer.read(descriptor, signal);
  // Decoding thousands of names takes some milliseconds.
  await nextTurn();
  return { descriptor, entries: decodeIndex(index, descriptor.records, descriptor.plainBytes), data };
}
