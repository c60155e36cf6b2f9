/** Knows which collection groups are listened to, finds new ones, and proves that there are no others. */

import {
  type CaptureOptions,
  type Instant,
  isEngineError,
  type ReadOptions,
  recordKind,
  type Scope,
} from '../../../ports/index.ts';
import { minuteMs } from '../../../time/durations.ts';
import type { FirestoreClient } from '../client.ts';
import { sourceFailure } from '../failures.ts';
import { mapLimited } from '../map-limited.ts';
import { collectionIdOf, subtreeOf } from '../names.ts';
import { listCollectionIds } from '../scan/collections.ts';
import { countGroup, groupsHoldEverything } from '../scan/count.ts';
import { collectionIdsOnPath, discoverGroups, sampleIds } from '../scan/discovery.ts';
import { eachPath } from '../scan/records.ts';
import type { QueryPart } from '../scan/scope.ts';
import { GrpcError, grpcCode } from '../transport/status.ts';
import type { Change } from './changes.ts';

/** New collections are searched below this many changed documents. */
const parentsPerRound = 20;
const countsAtOnce = 8;
/** While something changes, proofs may cost one read per second; otherwise far less. */
const msPerRead = 1_000;
const quietProofMs = 10 * minuteMs;

export interface NewGroup {
  readonly id: string;
  /** It had documents before the end of the covered time, which were missed. */
  readonly isLate: boolean;
}

export class CollectionGroups {
  readonly #client: FirestoreClient;
  readonly #scope: Scope;
  readonly #proofIntervalMs: number;
  readonly #groups = new Set<string>();
  #provedMs = Number.NEGATIVE_INFINITY;
  #proofReads = 0;
  #canProve = true;

  constructor(client: FirestoreClient, scope: Scope, proofIntervalMs: number) {
    this.#client = client;
    this.#scope = scope;
    this.#proofIntervalMs = proofIntervalMs;
  }

  get ids(): readonly string[] {
    return [...this.#groups];
  }

  /** Whether the database counts all collections at once. */
  get canProve(): boolean {
    return this.#canProve && !this.#isFixed;
  }

  add(id: string): void {
    this.#groups.add(id);
  }

  note(path: string): void {
    if (!this.#isFixed) for (const id of collectionIdsOnPath(path)) this.#groups.add(id);
  }

  /** The groups at the start: from the caller, from the names it knows, or by searching. */
  async initialise(options: CaptureOptions, reads: ReadOptions): Promise<void> {
    if (this.#scope.collections !== 'all') {
      for (const path of this.#scope.collections) this.#groups.add(collectionIdOf(path));
    }
    if (this.#isFixed) return;
    const known = options.position?.collectionIds ?? options.knownCollectionIds;
    for (const id of known ?? []) this.#groups.add(id);
    if (known !== undefined) return;
    await this.#noteKnown(options);
    for (const id of await discoverGroups(this.#client, reads)) this.#groups.add(id);
    if (options.knownNames === undefined) await this.#addVanished({ ...reads, readTime: options.from });
  }

  async #noteKnown({ knownNames, from }: CaptureOptions): Promise<void> {
    try {
      for await (const batch of knownNames?.(from) ?? []) for (const path of eachPath(batch)) this.note(path);
    } catch (error) {
      // They cannot be known any more: a catch-up will report the gap and find the groups.
      if (!isEngineError(sourceFailure(error), 'SNAPSHOT_TOO_OLD')) throw error;
    }
  }

  /** Searches, at `reads.readTime`, for groups that are not listened to: at the root, and below changed documents. */
  async findNew(changes: readonly Change[], coveredThrough: Instant, reads: ReadOptions): Promise<NewGroup[]> {
    if (this.#isFixed) return [];
    const parents = ['', ...parentsToLookBelow(changes)];
    const found = await mapLimited(parents, countsAtOnce, (parent) => this.#idsBelow(parent, reads));
    return await this.#asNew(new Set(found.flat()), coveredThrough, reads);
  }

  /** New collection ids directly below a document and below those, also under missing documents. */
  async #idsBelow(parent: string, reads: ReadOptions): Promise<string[]> {
    const found: string[] = [];
    for await (const id of listCollectionIds(this.#client, parent, reads)) {
      if (this.#groups.has(id)) continue;
      const below = subtreeOf(parent === '' ? id : `${parent}/${id}`);
      found.push(id, ...(await sampleIds(this.#client, descendantsIn(below), reads)));
    }
    return found;
  }

  /** Searches by samples from the whole database. */
  async discover(coveredThrough: Instant, reads: ReadOptions): Promise<NewGroup[]> {
    return await this.#asNew(await discoverGroups(this.#client, reads), coveredThrough, reads);
  }

  isProofDue(hadChanges: boolean): boolean {
    if (this.#isFixed || !this.#canProve) return false;
    const costMs = this.#proofReads * msPerRead;
    const waitMs = hadChanges ? Math.max(this.#proofIntervalMs, costMs) : Math.max(quietProofMs, 10 * costMs);
    return performance.now() - this.#provedMs >= waitMs;
  }

  /**
   * Whether the known groups hold every document: compares the database's count of everything with the sum of its
   * counts of the groups. Undefined when the database cannot count everything at once.
   */
  async holdEverything(reads: ReadOptions): Promise<boolean | undefined> {
    this.#provedMs = performance.now();
    const before = this.#client.usage.documentsRead;
    try {
      return await groupsHoldEverything(this.#client, this.ids, reads);
    } catch (error) {
      if (!(error instanceof GrpcError && cannotCount.has(error.code))) throw error;
      this.#canProve = false;
      return undefined;
    } finally {
      this.#proofReads = this.#client.usage.documentsRead - before;
    }
  }

  async #asNew(found: Iterable<string>, coveredThrough: Instant, reads: ReadOptions): Promise<NewGroup[]> {
    const groups: NewGroup[] = [];
    for (const id of [...found].filter((each) => !this.#groups.has(each))) {
      const before = await countGroup(this.#client, id, { ...reads, readTime: coveredThrough });
      groups.push({ id, isLate: before > 0 });
    }
    return groups;
  }

  /** A group may have lost its last document since the start, and that deletion must be captured too. */
  async #addVanished(reads: ReadOptions): Promise<void> {
    try {
      for (const id of await discoverGroups(this.#client, reads)) this.#groups.add(id);
    } catch (error) {
      // Then listening from there fails too, and a catch-up reports the gap.
      if (!isEngineError(sourceFailure(error), 'SNAPSHOT_TOO_OLD')) throw error;
    }
  }

  /** Without subcollections the set of groups follows from the scope alone. */
  get #isFixed(): boolean {
    return this.#scope.collections !== 'all' && !this.#scope.includeSubcollections;
  }
}

/** Status codes of databases that cannot count all collections, or not in time. */
const cannotCount: ReadonlySet<number> = new Set([
  grpcCode.UNIMPLEMENTED,
  grpcCode.INVALID_ARGUMENT,
  grpcCode.DEADLINE_EXCEEDED,
]);

function parentsToLookBelow(changes: readonly Change[]): string[] {
  const puts = changes.filter((change) => change.kind === recordKind.put);
  return [...new Set(puts.slice(-parentsPerRound).map((change) => change.path))];
}

function descendantsIn({ start, end }: { start: string; end: string }): QueryPart {
  return { collection: null, start: { path: start, inclusive: true }, end: { path: end, inclusive: false } };
}
