/** Firestore as a source of documents. */

import {
  type DocumentSource,
  everything,
  type Instant,
  type PathRange,
  type PlanRequest,
  type ReadOptions,
  type RecordBatch,
  type ScanOptions,
  type ScopedReadOptions,
  type SnapshotOptions,
  type SourceCallOptions,
  type SourceUsage,
} from '../../ports/index.ts';
import type { FirestoreClient } from './client.ts';
import {
  type DatabaseInfo,
  databaseInfo,
  lastingSnapshotTime,
  type ProbeResult,
  probe,
  snapshotTime,
} from './database-info.ts';
import { sourceFailure } from './failures.ts';
import { type CollectionCount, collectionTree, type TreeOptions } from './scan/collection-tree.ts';
import { listCollectionIds } from './scan/collections.ts';
import { countRange, groupsHoldEverything } from './scan/count.ts';
import { fetchDocuments } from './scan/fetch.ts';
import { planRanges } from './scan/plan-ranges.ts';
import { withRootsNamed } from './scan/root-scope.ts';
import { scanRange } from './scan/scan.ts';
import { scanDocuments } from './scan/scan-documents.ts';

export class FirestoreSource implements DocumentSource {
  readonly client: FirestoreClient;

  constructor(client: FirestoreClient) {
    this.client = client;
  }

  get database(): string {
    return this.client.database;
  }

  get usage(): SourceUsage {
    return this.client.usage;
  }

  snapshotTime({ isLasting = false, ...options }: SnapshotOptions = {}): Promise<Instant> {
    return isLasting ? lastingSnapshotTime(this.client, options) : snapshotTime(this.client, options);
  }

  async earliestReadTime(options?: SourceCallOptions): Promise<Instant> {
    return (await databaseInfo(this.client, options)).earliestReadTime;
  }

  info(options?: SourceCallOptions): Promise<DatabaseInfo> {
    return databaseInfo(this.client, options);
  }

  probe(options?: SourceCallOptions): Promise<ProbeResult> {
    return probe(this.client, options);
  }

  listCollectionIds(parentPath: string, options: ReadOptions): AsyncIterable<string> {
    return listCollectionIds(this.client, parentPath, options);
  }

  collectionTree(options: TreeOptions): Promise<CollectionCount[]> {
    return collectionTree(this.client, options);
  }

  async planRanges(request: PlanRequest): Promise<PathRange[]> {
    if (request.scope.documents) return [everything];
    return await planRanges(this.client, await withRootsNamed(this.client, request));
  }

  async *scan(range: PathRange, options: ScanOptions): AsyncGenerator<RecordBatch, void> {
    const { documents } = options.scope;
    if (documents) yield* scanDocuments(this.client, documents, range, options);
    else yield* scanRange(this.client, range, await withRootsNamed(this.client, options));
  }

  fetch(paths: readonly string[], options: ReadOptions): AsyncIterable<RecordBatch> {
    return fetchDocuments(this.client, paths, options);
  }

  async count(range: PathRange, options: ScopedReadOptions): Promise<number> {
    const { documents } = options.scope;
    if (!documents) return await countRange(this.client, range, await withRootsNamed(this.client, options));
    let count = 0;
    for await (const batch of scanDocuments(this.client, documents, range, options)) count += batch.count;
    return count;
  }

  /** Whether the named collection groups hold every document there is, by the database's own counts. */
  async holdsOnly(collectionIds: readonly string[], options: ReadOptions): Promise<boolean> {
    try {
      return await groupsHoldEverything(this.client, collectionIds, options);
    } catch (error) {
      throw sourceFailure(error);
    }
  }

  async close(): Promise<void> {
    this.client.channel.close();
  }
}
