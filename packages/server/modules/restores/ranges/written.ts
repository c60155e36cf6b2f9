import type { ApplyCounts, WrittenAhead } from '@holdfast/engine';
import type { Written } from '../tables.ts';

export const samplesMax = 100;

export const nothingWritten: Written = {
  written: 0,
  skipped: 0,
  deleted: 0,
  failed: 0,
  conflicts: 0,
  bytes: 0,
  errorSample: [],
  conflictSample: [],
  collections: 0,
  openCollections: [],
};

export function sumCounts(left: ApplyCounts, right: ApplyCounts): ApplyCounts {
  return {
    written: left.written + right.written,
    skipped: left.skipped + right.skipped,
    deleted: left.deleted + right.deleted,
    failed: left.failed + right.failed,
    conflicts: left.conflicts + right.conflicts,
    bytes: left.bytes + right.bytes,
  };
}

export const nothingAhead: WrittenAhead = { written: 0, deleted: 0, bytes: 0 };

/** Adds writes beyond the checkpoint, from which the next run will go on. */
function withAhead(counts: ApplyCounts, { written, deleted, bytes }: WrittenAhead = nothingAhead): ApplyCounts {
  return sumCounts(counts, { ...nothingWritten, written, deleted, bytes });
}

/**
 * Sums the work of several writers of one restore. A collection that several of them may have written to counts once.
 */
export function sumWritten(parts: readonly Written[]): Written {
  const shared = new Set(parts.flatMap(({ openCollections }) => openCollections));
  return {
    ...parts.map((part) => withAhead(part, part.ahead)).reduce(sumCounts, nothingWritten),
    errorSample: parts.flatMap(({ errorSample }) => errorSample).slice(0, samplesMax),
    conflictSample: parts.flatMap(({ conflictSample }) => conflictSample).slice(0, samplesMax),
    collections: parts.reduce((all, { collections }) => all + collections, 0) + shared.size,
    openCollections: [],
  };
}
