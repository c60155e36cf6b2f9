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

export function sum(left: ApplyCounts, right: ApplyCounts): ApplyCounts {
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

/** With what is in the database beyond the place from which the next run goes on. */
function withAhead(counts: ApplyCounts, { written, deleted, bytes }: WrittenAhead = nothingAhead): ApplyCounts {
  return sum(counts, { ...nothingWritten, written, deleted, bytes });
}

/** What several writers of one restore have done together. Collections that more than one may have written into count once. */
export function addUp(parts: readonly Written[]): Written {
  const shared = new Set(parts.flatMap(({ openCollections }) => openCollections));
  return {
    ...parts.map((part) => withAhead(part, part.ahead)).reduce(sum, nothingWritten),
    errorSample: parts.flatMap(({ errorSample }) => errorSample).slice(0, samplesMax),
    conflictSample: parts.flatMap(({ conflictSample }) => conflictSample).slice(0, samplesMax),
    collections: parts.reduce((all, { collections }) => all + collections, 0) + shared.size,
    openCollections: [],
  };
}
