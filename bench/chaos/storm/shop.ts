import { Firestore, type Timestamp } from '@google-cloud/firestore';

type Value = Record<string, unknown>;
export type Documents = ReadonlyMap<string, Value>;

/** Few enough that edits meet, on three levels. */
const paths = [...Array(60)].flatMap((_, n) => [
  `users/u${n}`,
  `users/u${n % 20}/orders/o${n}`,
  `users/u${n % 5}/orders/o${n % 15}/lines/l${n}`,
  `logs/l${n}`,
]);

/** As many versions as a report of what is wrong tells. */
const historyMax = 30;

interface Commit {
  atMicros: bigint;
  edits: readonly { path: string; value: Value | undefined }[];
}

/** A database that somebody works in all the time, by Google's own client, and everything it ever held. */
export class Shop {
  readonly #client: Firestore;
  readonly #commits: Commit[] = [];
  #counter = 0;

  constructor(projectId: string, address: string) {
    this.#client = clientOf(projectId, address);
  }

  async open(): Promise<void> {
    for (let from = 0; from < paths.length; from += 100)
      await this.#commit(paths.slice(from, from + 100).map((path) => ({ path, value: this.#newValue() })));
  }

  /** A few documents written or deleted at once. */
  async work(): Promise<void> {
    const picked = new Set([...Array(1 + Math.floor(Math.random() * 5))].map(() => pick(paths)));
    await this.#commit(
      [...picked].map((path) => ({ path, value: Math.random() < 0.2 ? undefined : this.#newValue() })),
    );
  }

  /** What it held at an instant of the past. */
  at(time: string): Documents {
    const atMicros = microsOf(time);
    const documents = new Map<string, Value>();
    for (const commit of this.#commits) {
      if (commit.atMicros > atMicros) break;
      for (const { path, value } of commit.edits) {
        if (value) documents.set(path, value);
        else documents.delete(path);
      }
    }
    return documents;
  }

  /** What a document was, newest first, and since when. */
  historyOf(path: string): string {
    const versions = this.#commits.flatMap(({ atMicros, edits }) =>
      edits.filter((edit) => edit.path === path).map(({ value }) => `${value?.n} since ${atMicros}`),
    );
    return versions.toReversed().slice(0, historyMax).join(', ');
  }

  close(): Promise<void> {
    return this.#client.terminate();
  }

  async #commit(edits: Commit['edits']): Promise<void> {
    const batch = this.#client.batch();
    for (const { path, value } of edits) {
      if (value) batch.set(this.#client.doc(path), value);
      else batch.delete(this.#client.doc(path));
    }
    const [first] = await batch.commit();
    this.#commits.push({ atMicros: microsOfStamp(first!.writeTime), edits });
  }

  #newValue(): Value {
    this.#counter += 1;
    return { n: this.#counter, text: 'x'.repeat(this.#counter % 300), map: { list: [this.#counter, null, true] } };
  }
}

/** What the database of a restore holds, found by walking it, so that nothing there stays unseen. */
export class Target {
  readonly #client: Firestore;
  readonly #writtenAt = new Map<string, string>();

  constructor(projectId: string, address: string) {
    this.#client = clientOf(projectId, address);
  }

  async read(): Promise<Documents> {
    const found = new Map<string, Value>();
    for (const group of ['users', 'orders', 'lines', 'logs']) {
      const { docs } = await this.#client.collectionGroup(group).get();
      for (const document of docs) {
        found.set(document.ref.path, document.data());
        this.#writtenAt.set(document.ref.path, document.updateTime.toDate().toISOString());
      }
    }
    return found;
  }

  /** When a document got what it held, or had held, at the last reading. */
  writtenAt(path: string): string | undefined {
    return this.#writtenAt.get(path);
  }

  close(): Promise<void> {
    return this.#client.terminate();
  }
}

/** Empty when both hold the same. */
export function differences(found: Documents, wanted: Documents): string[] {
  const all = new Set([...found.keys(), ...wanted.keys()]);
  return [...all].filter((path) => textOf(found.get(path)) !== textOf(wanted.get(path)));
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(textOf).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'absent';
  const entries = Object.entries(value).map(([key, inner]) => `${key}:${textOf(inner)}`);
  return `{${entries.toSorted().join()}}`;
}

function clientOf(projectId: string, address: string): Firestore {
  process.env.FIRESTORE_EMULATOR_HOST = address;
  // Google's client would otherwise look for the machine it runs on at Google.
  process.env.METADATA_SERVER_DETECTION ??= 'none';
  const client = new Firestore({ projectId });
  delete process.env.FIRESTORE_EMULATOR_HOST;
  return client;
}

function microsOfStamp({ seconds, nanoseconds }: Timestamp): bigint {
  return BigInt(seconds) * 1_000_000n + BigInt(Math.floor(nanoseconds / 1000));
}

/** Of `2026-01-01T00:00:00.123456Z`: more digits than a Date keeps. */
function microsOf(time: string): bigint {
  const fraction = /\.(\d+)Z$/.exec(time)?.[1] ?? '';
  const wholeSeconds = Date.parse(time.replace(/\.\d+Z$/, 'Z'));
  return BigInt(wholeSeconds) * 1000n + BigInt(fraction.padEnd(6, '0').slice(0, 6));
}

export function pick<Item>(items: readonly Item[]): Item {
  return items[Math.floor(Math.random() * items.length)]!;
}
