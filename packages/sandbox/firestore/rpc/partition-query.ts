import { encodeMessage, firestoreType } from '../protos.ts';
import type { StructuredQueryMessage } from '../query/messages.ts';
import { planQuery, type QueryPlan } from '../query/plan.ts';
import { NameScan, pause } from '../query/scan.ts';
import { openDatabase, type Sandbox } from '../sandbox.ts';
import type { UnaryMethod } from '../transport/dispatch.ts';
import { invalid } from '../transport/status.ts';
import { encodeReference } from '../values/encode.ts';
import { pathFromKey } from '../values/key.ts';
import { parseParentName } from '../values/name.ts';
import type { Micros } from '../values/timestamp.ts';
import { decodeAs } from './decode-as.ts';
import { decodePageToken, encodePageToken } from './page-token.ts';
import { type ConsistencyMessage, openSnapshot } from './snapshot.ts';

interface PartitionQueryRequest extends ConsistencyMessage {
  parent: string;
  structuredQuery: StructuredQueryMessage | null;
  partitionCount: unknown;
  pageToken: string;
  pageSize: number;
}

const requestType = firestoreType('PartitionQueryRequest');
const responseType = firestoreType('PartitionQueryResponse');
/** Production does not split below this many documents. */
const partitionDocumentsMin = 128;

export function partitionQueryMethod(sandbox: Sandbox): UnaryMethod {
  return {
    kind: 'unary',
    handle: (bytes, call) => {
      const request = decodeAs<PartitionQueryRequest>(requestType, bytes);
      const parent = parseParentName(request.parent);
      const database = openDatabase(sandbox, call, parent, 'read');
      if (request.structuredQuery === null) throw invalid('The request holds no query.');
      const plan = planQuery(database, parent, request.structuredQuery);
      checkPartitionable(plan, request.structuredQuery);
      const count = Number(request.partitionCount);
      if (!(count >= 1)) throw invalid('partition_count must be at least 1.');
      const { time } = openSnapshot(database, request);
      const after = decodePageToken(request.pageToken);
      const points = partitionKeys(plan, time, count).filter((key) => after === null || key > after);
      const page = request.pageSize > 0 ? points.slice(0, request.pageSize) : points;
      return encodeMessage(responseType, {
        partitions: page.map((key) => ({
          values: [encodeReference(`${database.documentsRoot}/${pathFromKey(key)}`)],
          before: true,
        })),
        nextPageToken: page.length < points.length ? encodePageToken(page.at(-1)!) : '',
      });
    },
  };
}

/** Only whole collection groups in ascending name order can be partitioned. */
function checkPartitionable(plan: QueryPlan, query: StructuredQueryMessage): void {
  const { scope, orders } = plan;
  if (!scope.allDescendants || scope.collectionKey === null) {
    throw invalid('PartitionQuery needs a collection group: one collection id with all descendants.');
  }
  if (!plan.nameOrdered || orders[0]!.descending || orders.length > 1) {
    throw invalid('PartitionQuery needs a query ordered by __name__ ascending.');
  }
  const extras = query.where ?? query.limit ?? query.startAt ?? query.endAt ?? (query.offset > 0 ? query : null);
  if (extras !== null) throw invalid('PartitionQuery takes no filters, limits, offsets or cursors.');
}

/** Up to `count` keys that cut the documents into parts of about equal number. */
function partitionKeys(plan: QueryPlan, time: Micros, count: number): string[] {
  const scan = new NameScan(plan, time);
  const keys: string[] = [];
  for (let view = scan.next(); view !== undefined; view = scan.next()) if (view !== pause) keys.push(view.entry.key);
  const parts = Math.min(count + 1, Math.max(1, Math.floor(keys.length / partitionDocumentsMin)));
  return Array.from({ length: parts - 1 }, (_, index) => keys[Math.floor(((index + 1) * keys.length) / parts)]!);
}
