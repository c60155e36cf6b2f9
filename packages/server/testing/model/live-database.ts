import { Firestore } from '@google-cloud/firestore';
import { paths as allPaths, type Value } from './documents.ts';

/** A document as it is now, and its version. */
export interface Standing {
  readonly value: Value;
  readonly version: string;
}

export type State = ReadonlyMap<string, Standing>;

export interface Edit {
  readonly path: string;
  readonly isDelete: boolean;
}

let counter = 0;

/** A database as its users see it: edited and read by Google's own client. */
export class LiveDatabase {
  readonly projectId: string;
  readonly #client: Firestore;
  readonly #paths: readonly string[];

  constructor(projectId: string, address: string, paths: readonly string[] = allPaths) {
    this.projectId = projectId;
    this.#paths = paths;
    process.env.FIRESTORE_EMULATOR_HOST = address;
    // Otherwise Google's client would ask Google about the machine it runs on.
    process.env.METADATA_SERVER_DETECTION ??= 'none';
    this.#client = new Firestore({ projectId });
    delete process.env.FIRESTORE_EMULATOR_HOST;
  }

  /** All in one commit. Every value is new, and shares some fields with others. */
  async edit(edits: readonly Edit[]): Promise<void> {
    const last = new Map(edits.map((edit) => [edit.path, edit]));
    if (last.size === 0) return;
    const batch = this.#client.batch();
    for (const { path, isDelete } of last.values()) {
      counter += 1;
      const reference = this.#client.doc(path);
      if (isDelete) batch.delete(reference);
      else batch.set(reference, newValue(counter));
    }
    await batch.commit();
  }

  async read(): Promise<State> {
    const found = await this.#client.getAll(...this.#paths.map((path) => this.#client.doc(path)));
    const standing = found.filter(({ exists }) => exists);
    return new Map(
      standing.map((one) => {
        const { seconds, nanoseconds } = one.updateTime!;
        return [one.ref.path, { value: one.data() as Value, version: `${seconds}.${nanoseconds}` }];
      }),
    );
  }

  close(): Promise<void> {
    return this.#client.terminate();
  }
}

function newValue(n: number): Value {
  return {
    n,
    [`f${n % 3}`]: n,
    map: { [`k${n % 2}`]: n, [`l${n % 3}`]: n },
    list: [n, n % 2],
  };
}
