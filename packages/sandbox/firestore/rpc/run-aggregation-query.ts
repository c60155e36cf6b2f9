import { setImmediate as turn } from 'node:timers/promises';
import { encodeMessage, firestoreType } from '../protos.ts';
import { type Aggregation, type AggregationMessage, planAggregations } from '../query/aggregate.ts';
import { type DocumentView, valueAt } from '../query/document-view.ts';
import { type ExplainOptionsMessage, executionStats, planSummary } from '../query/explain.ts';
import type { StructuredQueryMessage } from '../query/messages.ts';
import { planQuery, type QueryPlan } from '../query/plan.ts';
import { NameScan, nearestMatches, pause, sortMatches } from '../query/scan.ts';
import { openDatabase, type Sandbox } from '../sandbox.ts';
import type { ServerStreamMethod } from '../transport/dispatch.ts';
import { invalid } from '../transport/status.ts';
import type { FieldPath } from '../values/field-path.ts';
import { parseParentName } from '../values/name.ts';
import { type Micros, timestampFrom } from '../values/timestamp.ts';
import { decodeAs } from './decode-as.ts';
import { fingerprint } from './run-query.ts';
import { type ConsistencyMessage, openSnapshot } from './snapshot.ts';

interface RunAggregationQueryRequest extends ConsistencyMessage {
  parent: string;
  structuredAggregationQuery: {
    structuredQuery: StructuredQueryMessage | null;
    aggregations: AggregationMessage[];
  } | null;
  explainOptions: ExplainOptionsMessage | null;
}

const requestType = firestoreType('RunAggregationQueryRequest');
const responseType = firestoreType('RunAggregationQueryResponse');
/** Aggregations are billed as one read per this many index entries. */
const entriesPerRead = 1000;

export function runAggregationQueryMethod(sandbox: Sandbox): ServerStreamMethod {
  return {
    kind: 'serverStream',
    handle: async (bytes, call) => {
      const startedAtMs = performance.now();
      const request = decodeAs<RunAggregationQueryRequest>(requestType, bytes);
      const parent = parseParentName(request.parent);
      const database = openDatabase(sandbox, call, parent, 'read');
      const query = request.structuredAggregationQuery?.structuredQuery;
      if (!query) throw invalid('The request holds no query.');
      const plan = planQuery(database, parent, query);
      const aggregations = planAggregations(request.structuredAggregationQuery!.aggregations, database.documentsRoot);
      if (request.explainOptions !== null && !request.explainOptions.analyze) {
        call.out.send(encodeMessage(responseType, { explainMetrics: { planSummary: planSummary(plan) } }));
        return;
      }
      const { time, transaction, begun } = openSnapshot(database, request);
      if (begun) call.out.send(encodeMessage(responseType, { transaction: transaction!.id }));
      transaction?.noteQuery({ fingerprint: (at) => fingerprint(plan, at) });
      const counted = countFromIndex(plan, time, aggregations) ?? (await aggregate(plan, time, aggregations));
      const reads = Math.max(1, Math.ceil(counted / entriesPerRead));
      sandbox.counters.billReads(reads);
      call.out.send(
        encodeMessage(responseType, {
          result: { aggregateFields: Object.fromEntries(aggregations.map((each) => [each.alias, each.result()])) },
          readTime: timestampFrom(time),
          ...(request.explainOptions === null
            ? {}
            : {
                explainMetrics: {
                  planSummary: planSummary(plan),
                  executionStats: executionStats(1, reads, startedAtMs),
                },
              }),
        }),
      );
    },
  };
}

/** A plain count comes from the list alone, like production's from an index; otherwise undefined. */
function countFromIndex(plan: QueryPlan, time: Micros, aggregations: readonly Aggregation[]): number | undefined {
  const { scope, database, range } = plan;
  const isWhole = plan.matches === null && plan.nearest === null && plan.offset === 0 && plan.limit === null;
  if (!isWhole || !plan.nameOrdered || !scope.allDescendants || !database.isUnchangedSince(time)) return undefined;
  if (aggregations.some((each) => each.addUnseen === undefined)) return undefined;
  const list = scope.collectionKey === null ? database.all : database.group(scope.collectionKey);
  const counted = list?.countBetween(range.from, range.to) ?? 0;
  for (const each of aggregations) each.addUnseen!(counted);
  return counted;
}

/** Passes every document of the query's result to the aggregations; returns how many there were. */
async function aggregate(plan: QueryPlan, time: Micros, aggregations: readonly Aggregation[]): Promise<number> {
  const needed = aggregations.flatMap((each) => (each.path === null ? [] : [each.path]));
  let index = 0;
  let counted = 0;
  const take = (view: DocumentView): boolean => {
    if (!hasAll(plan, view, needed)) return true;
    const position = index++;
    if (position < plan.offset) return true;
    if (plan.limit !== null && position >= plan.offset + plan.limit) return false;
    counted += 1;
    for (const each of aggregations) each.add(view);
    return true;
  };
  const scan = new NameScan(plan, time);
  const collected: DocumentView[] = [];
  const straight = plan.nameOrdered && plan.nearest === null;
  for (let view = scan.next(); view !== undefined; view = scan.next()) {
    if (view === pause) await turn();
    else if (!straight) collected.push(view);
    else if (!take(view)) return counted;
  }
  const ordered =
    plan.nearest === null ? sortMatches(plan, collected) : nearestMatches(plan, collected).map(({ view }) => view);
  for (const view of straight ? [] : ordered) if (!take(view)) break;
  return counted;
}

/** Production reads aggregations from an index on the aggregated fields: a document without one of them is not in it. */
function hasAll(plan: QueryPlan, view: DocumentView, needed: readonly FieldPath[]): boolean {
  return needed.every((path) => valueAt(view, path, plan.database.documentsRoot) !== null);
}
