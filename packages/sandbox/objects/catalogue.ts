import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';

/** The server's knowledge of its buckets and objects, as a map that outlives the process in disk mode. */
export interface Catalogue {
  /** The state when the catalogue was opened; later changes are not included. */
  readonly loaded: ReadonlyMap<string, unknown>;
  /** Resolves when the change would survive the end of this process. */
  set(id: string, value: unknown): Promise<void>;
  delete(id: string): Promise<void>;
  close(): Promise<void>;
}

export function memoryCatalogue(): Catalogue {
  const done = Promise.resolve();
  return { loaded: new Map(), set: () => done, delete: () => done, close: () => done };
}

/** One line of JSON per change, rewritten without obsolete lines at every opening. */
export async function diskCatalogue(folder: string): Promise<Catalogue> {
  const path = join(folder, 'catalogue.ndjson');
  const loaded = existsSync(path) ? replay(readFileSync(path, 'utf8')) : new Map<string, unknown>();
  writeFileSync(`${path}.new`, [...loaded].map((entry) => `${JSON.stringify(entry)}\n`).join(''));
  renameSync(`${path}.new`, path);
  const journal = new Journal(await open(path, 'a'));
  return {
    loaded,
    set: (id, value) => journal.append(JSON.stringify([id, value])),
    delete: (id) => journal.append(JSON.stringify([id])),
    close: () => journal.close(),
  };
}

function replay(text: string): Map<string, unknown> {
  const entries = new Map<string, unknown>();
  const lines = text.split('\n');
  // A process that died while writing leaves an incomplete last line; that change was never acknowledged.
  lines.pop();
  for (const line of lines) {
    const [id, value] = JSON.parse(line) as [string, unknown?];
    if (value === undefined) entries.delete(id);
    else entries.set(id, value);
  }
  return entries;
}

/** Lines that arrive during a write are written together with the next one. */
class Journal {
  readonly #file: FileHandle;
  #waiting: string[] = [];
  #flush: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  append(line: string): Promise<void> {
    this.#waiting.push(line);
    this.#next ??= this.#flush.then(() => this.#write());
    return this.#next;
  }

  async close(): Promise<void> {
    await this.#next;
    await this.#flush;
    await this.#file.close();
  }

  #write(): Promise<void> {
    const lines = this.#waiting;
    this.#waiting = [];
    this.#next = undefined;
    const written = this.#file.appendFile(`${lines.join('\n')}\n`);
    this.#flush = written.catch(() => {});
    return written;
  }
}
