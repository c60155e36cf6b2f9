import type { SavedDocument } from '@holdfast/engine';
import type { RestoreRow } from '../restore-store.ts';
import { journalGone, type KeyContext, readJournal } from './restore-journal.ts';

interface Place {
  version: SavedDocument['version'];
  page: number;
}

/**
 * The last saved version of each path, from the journal. Keeps only where each document lies; documents may need more
 * memory than there is and are read on demand.
 */
export class SavedDocuments {
  readonly #context: KeyContext;
  readonly #row: RestoreRow;
  readonly #places: ReadonlyMap<string, Place>;

  constructor(context: KeyContext, row: RestoreRow, places: ReadonlyMap<string, Place>) {
    this.#context = context;
    this.#row = row;
    this.#places = places;
  }

  has(path: string): boolean {
    return this.#places.has(path);
  }

  /** Null when there was no document; undefined when nothing was saved. */
  version(path: string): SavedDocument['version'] | undefined {
    return this.#places.get(path)?.version;
  }

  /** The document; undefined when there was none. */
  async bytes(path: string): Promise<Uint8Array | undefined> {
    const place = this.#places.get(path);
    if (!place?.version) return undefined;
    const { page: first } = place;
    for await (const { saved } of readJournal(this.#context, this.#row, { first, before: first + 1 }))
      return saved.findLast((one) => one.path === path)?.bytes;
    // It was saved, so it must be found. Otherwise the undo would delete the document.
    throw journalGone();
  }
}

export async function savedDocuments(context: KeyContext, row: RestoreRow): Promise<SavedDocuments> {
  const places = new Map<string, Place>();
  let page = 0;
  for await (const { saved } of readJournal(context, row)) {
    for (const { path, version } of saved) places.set(path, { version, page });
    page += 1;
  }
  return new SavedDocuments(context, row, places);
}
