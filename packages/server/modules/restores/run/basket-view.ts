import {
  documentsScope,
  moveDocument,
  RecordBatchBuilder,
  recordKind,
  type Selection,
  selects,
  View,
  type ViewEntry,
  versionOfDocument,
} from '@holdfast/engine';
import { Problem } from '../../../platform/problem.ts';
import { databaseName, projectStore } from '../../projects/index.ts';
import type { RestoresContext } from '../context.ts';
import type { RestoreSource } from '../restore-source.ts';
import type { RestoreRow } from '../restore-store.ts';
import type { StoredItem } from '../tables.ts';
import { openBackup, openMoment } from './open-one-source.ts';

/** Documents from several backups and moments as one view. */
class BasketView extends View {
  readonly #documents: ReadonlyMap<string, Uint8Array>;

  constructor(database: string, documents: ReadonlyMap<string, Uint8Array>) {
    super(database, []);
    this.#documents = documents;
  }

  override async *records(selection: Selection = {}) {
    const builder = new RecordBatchBuilder();
    for (const [path, bytes] of this.#chosen(selection)) {
      builder.add(recordKind.put, path, bytes);
      if (builder.isFull) yield builder.take();
    }
    if (!builder.isEmpty) yield builder.take();
  }

  override async *entries(selection: Selection = {}): AsyncGenerator<readonly ViewEntry[]> {
    yield this.#chosen(selection).map(([path, bytes]) => {
      const { seconds, nanos } = versionOfDocument(bytes);
      return { path, updateSeconds: seconds, updateNanos: nanos, size: bytes.length };
    });
  }

  override async count(): Promise<number> {
    return this.#documents.size;
  }

  override async get(path: string): Promise<Uint8Array | undefined> {
    return this.#documents.get(path);
  }

  #chosen(selection: Selection): [string, Uint8Array][] {
    const { documents = [] } = documentsScope([...this.#documents.keys()]);
    return documents.filter((path) => selects(selection, path)).map((path) => [path, this.#documents.get(path)!]);
  }
}

/**
 * Reads every picked document from its backup or moment, as a document of the target: backups may be of different
 * databases. DOCUMENT_NOT_FOUND names the missing ones.
 */
export async function basketView(
  context: RestoresContext,
  row: RestoreRow,
  items: readonly StoredItem[],
  signal: AbortSignal,
): Promise<RestoreSource> {
  const documents = new Map<string, Uint8Array>();
  const missing: string[] = [];
  const { organizationId, targetProjectId, rewriteReferences } = row;
  const to = databaseName(
    await context.platform.database.tenant(organizationId, (transaction) =>
      projectStore.get(transaction, organizationId, targetProjectId),
    ),
  );
  let readFrom: string | undefined;
  for (const [, picked] of Map.groupBy(items, ({ backupId, pointInTime }) => backupId ?? pointInTime)) {
    const { backupId, pointInTime } = picked[0]!;
    const source = backupId
      ? await openBackup(context, organizationId, backupId, signal)
      : await openMoment(context, row, pointInTime!, signal);
    try {
      const from = source.view.database;
      readFrom ??= source.readFrom;
      const paths = picked.map(({ path }) => path);
      const found = await source.view.getAll(paths, { signal });
      for (const path of paths) {
        const bytes = found.get(path);
        if (bytes) documents.set(path, from === to ? bytes : moveDocument(bytes, { from, to, rewriteReferences }));
        else missing.push(path);
      }
    } finally {
      await source.close();
    }
  }
  if (missing.length > 0)
    throw new Problem('DOCUMENT_NOT_FOUND', `Not where it was picked: ${missing.slice(0, 5).join(', ')}.`);
  const scope = documentsScope([...documents.keys()]);
  return {
    view: new BasketView(to, documents),
    readers: [],
    scope,
    ...(readFrom === undefined ? {} : { readFrom }),
    close: async () => undefined,
  };
}
