import { comparePaths } from '../ports/path-order.ts';
import { type SegmentDescriptor, storedBytesOf } from './descriptor.ts';
import type { ManifestBody, ManifestCounts } from './manifest-body.ts';

export function countsOf(
  documents: number,
  segments: readonly SegmentDescriptor[],
  others: readonly SegmentDescriptor[],
): ManifestCounts {
  const sum = (of: (descriptor: SegmentDescriptor) => number, list = segments) =>
    list.reduce((total, item) => total + of(item), 0);
  const all = [...segments, ...others];
  return {
    documents,
    puts: sum(({ puts }) => puts),
    deletes: sum(({ deletes }) => deletes),
    segments: segments.length,
    plainBytes: sum(({ plainBytes }) => plainBytes, all),
    storedBytes: sum(storedBytesOf, all),
  };
}

export function listCollections(counts: ReadonlyMap<string, number>): ManifestBody['collections'] {
  const listed = [...counts].map(([path, documents]) => ({ path, documents }));
  return listed.sort((left, right) => comparePaths(left.path, right.path));
}
