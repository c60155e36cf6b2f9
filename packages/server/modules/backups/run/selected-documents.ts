import {
  type DocumentSource,
  everything,
  type PathRange,
  type ReadOptions,
  type RecordBatch,
  RecordBatchBuilder,
  readRecords,
  recordKind,
  type ScanOptions,
  type ScopedReadOptions,
} from '@holdfast/engine';

/** A database as if it held these documents and no others: what a restore of single documents is about to overwrite. */
function selectDocuments(source: DocumentSource, paths: readonly string[]): DocumentSource {
  const existing = async function* (options: ReadOptions): AsyncGenerator<RecordBatch> {
    for await (const batch of source.fetch(paths, options)) yield* putsOf(batch, source.database);
  };
  return {
    database: source.database,
    get usage() {
      return source.usage;
    },
    snapshotTime: (options) => source.snapshotTime(options),
    earliestReadTime: (options) => source.earliestReadTime(options),
    listCollectionIds: (parentPath, options) => source.listCollectionIds(parentPath, options),
    planRanges: async () => [everything],
    scan: (_range: PathRange, options: ScanOptions) => existing(options),
    fetch: (wanted, options) => source.fetch(wanted, options),
    count: async (_range: PathRange, options: ScopedReadOptions) => {
      let count = 0;
      for await (const batch of existing(options)) count += batch.count;
      return count;
    },
    close: () => source.close(),
  };
}

/** A fetch answers missing documents with deletes; a backup of what exists leaves them out. */
function putsOf(batch: RecordBatch, database: string): RecordBatch[] {
  const builder = new RecordBatchBuilder();
  for (const { kind, path, body } of readRecords(batch, database))
    if (kind === recordKind.put) builder.add(kind, path, body);
  return builder.isEmpty ? [] : [builder.take()];
}

/** The whole database, unless the backup is of single documents. */
export function documentSourceOf(row: { documentPaths: string[] | null }, source: DocumentSource): DocumentSource {
  return row.documentPaths ? selectDocuments(source, row.documentPaths) : source;
}
