/** Firestore as a source of documents. */

import type {
  DocumentSource,
  Instant,
  PathRange,
  PlanRequest,
  ReadOptions,
  RecordBatch,
  ScanOptions,
  ScopedReadOptions,
  SourceCallOptions,
  SourceUsage,
} from '../../ports/index.ts';
import type { FirestoreClient } from './client.ts';
import { type DatabaseInfo, databaseInfo, type ProbeResult, probe, snapshotTime } from './database-info.ts';
import { type CollectionNode, collectionTree } from './scan/collection-tree.ts';
import { listCollectionIds } from './scan/collections.ts';
import { countRange } from './scan/count.ts';
import { fetchDocuments } from './scan/fetch.ts';
import { planRanges } from './scan/plan-ranges.ts';
import { scanRange } from './scan/scan.ts';

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

  snapshotTime(options?: SourceCallOptions): Promise<Instant> {
    return snapshotTime(this.client, options);
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

  collectionTree(options: ReadOptions): Promise<CollectionNode[]> {
    return collectionTree(this.client, options);
  }

  planRanges(request: PlanRequest): Promise<PathRange[]> {
    return planRanges(this.client, request);
  }

  scan(range: PathRange, options: ScanOptions): AsyncIterable<RecordBatch> {
    return scanRange(this.client, range, options);
  }

  fetch(paths: readonly string[], options: ReadOptions): AsyncIterable<RecordBatch> {
    return fetchDocuments(this.client, paths, options);
  }

  count(range: PathRange, options: ScopedReadOptions): Promise<number> {
    return countRange(this.client, range, options);
  }

  async close(): Promise<void> {
    this.client.channel.close();
  }
}
