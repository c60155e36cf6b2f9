/** Which collection groups are listened to, and how new ones are found before a stretch of time is called covered. */

import {
  type CaptureOptions,
  type Instant,
  isEngineError,
  type ReadOptions,
  recordKind,
  type Scope,
} from '../../../ports/index.ts';
import type { FirestoreClient } from '../client.ts';
import { sourceFailure } from '../failures.ts';
import { collectionIdOf, subtreeOf } from '../names.ts';
import { listCollectionIds } from '../scan/collections.ts';
import { countGroup } from '../scan/count.ts';
import { collectionIdsOnPath, discoverGroups, sampleIds } from '../scan/discovery.ts';
import { eachPath } from '../scan/records.ts';
import type { QueryPart } from '../scan/scope.ts';
import type { Change } from './changes.ts';

/** Below so many of the documents that changed we look for new collections. */
const parentsPerRound = 20;

export interface NewGroup {
  readonly id: string;
  /** Documents were in it before the time that has been handed over as covered: they were missed. */
  readonly isLate: boolean;
}

export class CollectionGroups {
  readonly #client: FirestoreClient;
  readonly #scope: Scope;
  readonly #discoveryIntervalMs: number;
  readonly #groups = new Set<string>();
  #sampledMs = performance.now();

  constructor(client: FirestoreClient, scope: Scope, discoveryIntervalMs: number) {
    this.#client = client;
    this.#scope = scope;
    this.#discoveryIntervalMs = discoveryIntervalMs;
  }

  get ids(): readonly string[] {
    return [...this.#groups];
  }

  note(path: string): void {
    if (!this.#isFixed) for (const id of collectionIdsOnPath(path)) this.#groups.add(id);
  }

  /** What is known at the start: from the caller, from the names it knows, or by looking around. */
  async initialise(options: CaptureOptions, reads: ReadOptions): Promise<void> {
    if (this.#scope.collections !== 'all') {
      for (const path of this.#scope.collections) this.#groups.add(collectionIdOf(path));
    }
    if (this.#isFixed) return;
    for (const id of options.knownCollectionIds ?? []) this.#groups.add(id);
    if (options.knownCollectionIds !== undefined) return;
    for await (const batch of options.knownNames?.() ?? []) for (const path of eachPath(batch)) this.note(path);
    for (const id of await discoverGroups(this.#client, reads)) this.#groups.add(id);
    if (options.knownNames === undefined) await this.#addVanished({ ...reads, readTime: options.from });
  }

  add(id: string): void {
    this.#groups.add(id);
  }

  /** Looks, as of `reads.readTime`, for groups nobody listens to yet. The caller adds them when it does. */
  async findNew(changes: readonly Change[], coveredThrough: Instant, reads: ReadOptions): Promise<NewGroup[]> {
    if (this.#isFixed) return [];
    const found = new Set<string>();
    for (const parent of ['', ...parentsToLookBelow(changes)]) {
      for await (const id of listCollectionIds(this.#client, parent, reads)) {
        if (this.#groups.has(id) || found.has(id)) continue;
        found.add(id);
        // What lies below a new collection may be of new groups too, under documents that do not exist.
        const below = subtreeOf(parent === '' ? id : `${parent}/${id}`);
        for (const inner of await sampleIds(this.#client, descendantsIn(below), reads)) found.add(inner);
      }
    }
    if (performance.now() - this.#sampledMs >= this.#discoveryIntervalMs) {
      this.#sampledMs = performance.now();
      for (const id of await discoverGroups(this.#client, reads)) found.add(id);
    }
    const groups: NewGroup[] = [];
    for (const id of [...found].filter((each) => !this.#groups.has(each))) {
      const before = await countGroup(this.#client, id, { ...reads, readTime: coveredThrough });
      groups.push({ id, isLate: before > 0 });
    }
    return groups;
  }

  /** A group may have lost its last document since the start: that deletion must be heard too. */
  async #addVanished(reads: ReadOptions): Promise<void> {
    try {
      for (const id of await discoverGroups(this.#client, reads)) this.#groups.add(id);
    } catch (error) {
      // Then listening from there will not work either, and a catch-up tells of the gap.
      if (!isEngineError(sourceFailure(error), 'SNAPSHOT_TOO_OLD')) throw error;
    }
  }

  /** Without subcollections the set of groups follows from the scope alone. */
  get #isFixed(): boolean {
    return this.#scope.collections !== 'all' && !this.#scope.includeSubcollections;
  }
}

function parentsToLookBelow(changes: readonly Change[]): string[] {
  const puts = changes.filter((change) => change.kind === recordKind.put);
  return [...new Set(puts.slice(-parentsPerRound).map((change) => change.path))];
}

function descendantsIn({ start, end }: { start: string; end: string }): QueryPart {
  return { collection: null, start: { path: start, inclusive: true }, end: { path: end, inclusive: false } };
}
