import { decodeDocument, encodeDocument, type JsonFields } from '../format/document-json.ts';
import { readRecords } from '../pipeline/segments/read-records.ts';
import { RecordBatchBuilder } from '../pipeline/segments/record-batch-builder.ts';
import {
  type ChangeCapture,
  comparePaths,
  type DocumentSource,
  type DocumentTarget,
  encodeDeletedDocument,
  everything,
  type Instant,
  type RecordBatch,
  type RecordKind,
  recordKind,
  type Scope,
  wholeDatabase,
} from '../ports/index.ts';

/** An empty database to read, write and follow; every call of the suite's setup gives another one. */
export interface DatabaseUnderTest {
  readonly source: DocumentSource;
  readonly target: DocumentTarget;
  readonly capture: ChangeCapture;
  close(): Promise<void>;
}

export type OpenDatabase = () => Promise<DatabaseUnderTest>;

/** Without fields it stands for a delete. */
export interface GivenRecord {
  readonly path: string;
  readonly fields?: JsonFields;
}

export interface ReadDocument {
  readonly path: string;
  readonly kind: RecordKind;
  readonly name: string;
  readonly fields: JsonFields;
  readonly updateTime: string | undefined;
}

export const text = (stringValue: string): JsonFields => ({ text: { stringValue } });

/** Records as a backup of `database` would hold them, ascending. */
export async function* recordsOf(database: string, given: readonly GivenRecord[]): AsyncGenerator<RecordBatch> {
  const builder = new RecordBatchBuilder();
  for (const { path, fields } of given.toSorted((left, right) => comparePaths(left.path, right.path))) {
    const name = `${database}/documents/${path}`;
    if (fields === undefined)
      builder.add(recordKind.delete, path, encodeDeletedDocument(name, '2026-01-01T00:00:00.000000000Z'));
    else builder.add(recordKind.put, path, encodeDocument({ name, fields }));
    if (builder.isFull) yield builder.take();
  }
  if (!builder.isEmpty) yield builder.take();
}

export async function write({ target }: DatabaseUnderTest, given: readonly GivenRecord[]): Promise<void> {
  const result = await target.apply(recordsOf(target.database, given), { mode: 'overwrite', rampUp: false });
  if (result.failed > 0) throw new Error(`The database refused what the suite wrote: ${JSON.stringify(result.errors)}`);
}

export async function readAll(batches: AsyncIterable<RecordBatch>, database: string): Promise<ReadDocument[]> {
  const documents: ReadDocument[] = [];
  for await (const batch of batches) documents.push(...documentsIn(batch, database));
  return documents;
}

export function documentsIn(batch: RecordBatch, database: string): ReadDocument[] {
  return [...readRecords(batch, database)].map(({ kind, path, body }) => {
    const { name, fields, updateTime } = decodeDocument(body);
    return { kind, path, name, fields: { ...fields }, updateTime };
  });
}

export async function scan(
  { source }: DatabaseUnderTest,
  options: { scope?: Scope; readTime?: Instant; after?: string; namesOnly?: boolean } = {},
): Promise<ReadDocument[]> {
  const readTime = options.readTime ?? (await source.snapshotTime());
  return await readAll(source.scan(everything, { scope: wholeDatabase, ...options, readTime }), source.database);
}

export const pathsOf = (documents: readonly { readonly path: string }[]): string[] => documents.map(({ path }) => path);
