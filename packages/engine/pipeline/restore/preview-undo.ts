import { type DocumentSource, documentsScope } from '../../ports/document-source.ts';
import type { Version, WriteOutcome } from '../../ports/document-target.ts';
import { everything } from '../../ports/path-order.ts';
import { recordKind } from '../../ports/record.ts';
import { readRecords } from '../segments/read-records.ts';

export interface UndoPreview {
  readonly create: number;
  readonly replace: number;
  readonly delete: number;
  readonly skip: number;
  /** The paths of documents that somebody changed since, and that stay as they are. */
  readonly conflicts: readonly string[];
}

export interface UndoPreviewOptions {
  readonly source: DocumentSource;
  /** Also undoes documents that somebody changed since. */
  readonly isForced: boolean;
  readonly signal?: AbortSignal;
}

/**
 * What an undo would do to the current state of documents that a restore wrote or deleted, from names and times alone.
 */
export async function previewUndo(
  written: readonly WriteOutcome[],
  { source, isForced, signal }: UndoPreviewOptions,
): Promise<UndoPreview> {
  const counts = { create: 0, replace: 0, delete: 0, skip: 0 };
  const conflicts: string[] = [];
  const paths = written.map(({ path }) => path);
  const there = written.length > 0 ? await versionsOf(source, paths, signal) : new Map<string, Version>();
  for (const { path, kind, replaced, version: left } of written) {
    const found = there.get(path) ?? null;
    const isTheirs = found?.seconds !== left?.seconds || found?.nanos !== left?.nanos;
    const goes = kind === recordKind.put && replaced === null;
    if (isTheirs && !isForced) conflicts.push(path);
    else if (found === null) counts[goes ? 'skip' : 'create'] += 1;
    else counts[goes ? 'delete' : 'replace'] += 1;
  }
  return { ...counts, conflicts };
}

async function versionsOf(
  source: DocumentSource,
  paths: readonly string[],
  signal: AbortSignal | undefined,
): Promise<Map<string, Version>> {
  const call = signal ? { signal } : {};
  const readTime = await source.snapshotTime(call);
  const scope = documentsScope(paths);
  const versions = new Map<string, Version>();
  for await (const batch of source.scan(everything, { scope, readTime, namesOnly: true, ...call }))
    for (const { path, updateSeconds: seconds, updateNanos: nanos } of readRecords(batch, source.database))
      versions.set(path, { seconds, nanos });
  return versions;
}
