import type { QueryPlan } from './plan.ts';

export interface ExplainOptionsMessage {
  analyze: boolean;
}

/** google.protobuf.Struct from plain strings. */
function struct(fields: Record<string, string>): object {
  const entries = Object.entries(fields).map(([key, stringValue]) => [key, { stringValue }]);
  return { fields: Object.fromEntries(entries) };
}

export function planSummary(plan: QueryPlan): object {
  const [scope, properties] = plan.indexDescription.split(': ') as [string, string];
  return { indexesUsed: [struct({ query_scope: scope, properties })] };
}

export function executionStats(resultsReturned: number, readOperations: number, startedAtMs: number): object {
  const nanos = Math.max(1, Math.round((performance.now() - startedAtMs) * 1e6));
  return {
    resultsReturned,
    readOperations,
    executionDuration: { seconds: Math.floor(nanos / 1e9), nanos: nanos % 1e9 },
    debugStats: struct({ documents_scanned: String(readOperations), index_entries_scanned: String(readOperations) }),
  };
}
