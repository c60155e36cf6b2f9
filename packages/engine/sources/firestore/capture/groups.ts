/** Which collection groups are listened to, how new ones are found, and how it is proved that there are no others. */

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

/** Below so many of the documents that changed we look for new collections. */
const parentsPerRound = 20;
const countsAtOnce = 8;
/** While something changes, proofs may cost a read per second; while nothing does, far less. */
const msPerRead = 1_000;
const quietProofMs = 10 * minuteMs;

export interface NewGroup {
  readonly id: string;
  /** Documents were in it before the time that has been handed over as covered: they were missed. */
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

  /** What is known at the start: from the caller, from the names it knows, or by looking around. */
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
      // Nobody knows any more: a catch-up tells of the gap, and finds the groups that are there.
      if (!isEngineError(sourceFailure(error), 'SNAPSHOT_TOO_OLD')) throw error;
    }
  }

  /** Looks, as of `reads.readTime`, for groups nobody listens to yet: at the root, and below what has changed. */
  async findNew(changes: readonly Change[], coveredThrough: Instant, reads: ReadOptions): Promise<NewGroup[]> {
    if (this.#isFixed) return [];
    const parents = ['', ...parentsToLookBelow(changes)];
    const found = await mapLimited(parents, countsAtOnce, (parent) => this.#idsBelow(parent, reads));
    return await this.#asNew(new Set(found.flat()), coveredThrough, reads);
  }

  /** Ids that nobody listens to: directly below a document, and what lies below those, also under missing documents. */
  async #idsBelow(parent: string, reads: ReadOptions): Promise<string[]> {
    const found: string[] = [];
    for await (const id of listCollectionIds(this.#client, parent, reads)) {
      if (this.#groups.has(id)) continue;
      const below = subtreeOf(parent === '' ? id : `${parent}/${id}`);
      found.push(id, ...(await sampleIds(this.#client, descendantsIn(below), reads)));
    }
    return found;
  }

  /** Sampled all over the database. */
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
   * Whether the groups that are known hold every document there is: the database's count of all against the sum of its
   * counts of each. Undefined when it does not count all collections at once.
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

/** Statuses of databases that do not count over all collections, or not in time. */
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
