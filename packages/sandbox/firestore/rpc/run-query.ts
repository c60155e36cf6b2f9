import { setImmediate as turn } from 'node:timers/promises';
import type { StreamFault } from '../faults/faults.ts';
import { encodeMessage, firestoreType } from '../protos.ts';
import type { DocumentView } from '../query/document-view.ts';
import { type ExplainOptionsMessage, executionStats, planSummary } from '../query/explain.ts';
import type { StructuredQueryMessage } from '../query/messages.ts';
import { planQuery, type QueryPlan } from '../query/plan.ts';
import { NameScan, nearestMatches, pause, runWhole, sortMatches } from '../query/scan.ts';
import { openDatabase, type Sandbox } from '../sandbox.ts';
import type { Call } from '../transport/call.ts';
import type { ServerStreamMethod } from '../transport/dispatch.ts';
import { invalid } from '../transport/status.ts';
import { parseParentName } from '../values/name.ts';
import { type Micros, timestampFrom } from '../values/timestamp.ts';
import { decodeAs } from './decode-as.ts';
import { renderDocument, renderNeighbour, timestampField } from './render.ts';
import { type ConsistencyMessage, openSnapshot, type Snapshot } from './snapshot.ts';

interface RunQueryRequest extends ConsistencyMessage {
  parent: string;
  structuredQuery: StructuredQueryMessage | null;
  explainOptions: ExplainOptionsMessage | null;
}

const requestType = firestoreType('RunQueryRequest');
const responseType = firestoreType('RunQueryResponse');
const documentTag = 0x0a;
const readTimeField = 3;

export function runQueryMethod(sandbox: Sandbox): ServerStreamMethod {
  return {
    kind: 'serverStream',
    handle: async (bytes, call) => {
      const request = decodeAs<RunQueryRequest>(requestType, bytes);
      const parent = parseParentName(request.parent);
      const database = openDatabase(sandbox, call, parent, 'read');
      if (request.structuredQuery === null) throw invalid('The request holds no query.');
      const plan = planQuery(database, parent, request.structuredQuery);
      if (request.explainOptions !== null && !request.explainOptions.analyze) {
        call.out.send(encodeMessage(responseType, { explainMetrics: { planSummary: planSummary(plan) } }));
        return;
      }
      const snapshot = openSnapshot(database, request);
      await new QueryStream(sandbox, call, plan, snapshot, request.explainOptions !== null).run();
    },
  };
}

/** Sends the results of one query, as fast as the caller takes them. */
class QueryStream {
  readonly #sandbox: Sandbox;
  readonly #call: Call;
  readonly #plan: QueryPlan;
  readonly #snapshot: Snapshot;
  readonly #explain: boolean;
  readonly #fault: StreamFault | null;
  readonly #tail: Buffer;
  readonly #startedAtMs = performance.now();
  #skipped = 0;
  #sent = 0;
  #chunksSeen = 0;
  /** With explain, the last document is held back, because the metrics are part of its message. */
  #held: { document: Buffer } | null = null;

  constructor(sandbox: Sandbox, call: Call, plan: QueryPlan, snapshot: Snapshot, explain: boolean) {
    this.#sandbox = sandbox;
    this.#call = call;
    this.#plan = plan;
    this.#snapshot = snapshot;
    this.#explain = explain;
    this.#fault = sandbox.faults.streamFault(call);
    this.#tail = timestampField(readTimeField, snapshot.time);
  }

  async run(): Promise<void> {
    const plan = this.#plan;
    const snapshot = this.#snapshot;
    this.#announce();
    if (snapshot.transaction !== null) {
      snapshot.transaction.noteQuery({ fingerprint: (time) => fingerprint(plan, time) });
    }
    const scan = new NameScan(plan, snapshot.time);
    if (plan.nearest !== null) await this.#sendNearest(scan);
    else if (plan.nameOrdered) await this.#sendStraight(scan);
    else await this.#sendAll(sortMatches(plan, await collect(scan, this.#call)));
    if (this.#call.closed) return;
    this.#close();
  }

  #announce(): void {
    const { transaction, begun } = this.#snapshot;
    if (begun) this.#call.out.send(encodeMessage(responseType, { transaction: transaction!.id }));
  }

  async #sendStraight(scan: NameScan): Promise<void> {
    for (let view = scan.next(); view !== undefined && !this.#full; view = scan.next()) {
      if (view === pause) await turn();
      else if (this.#offer(view)) await this.#betweenChunks();
      if (this.#call.closed) return;
    }
  }

  async #sendAll(views: readonly DocumentView[]): Promise<void> {
    for (const view of views) {
      if (this.#full) return;
      if (this.#offer(view)) await this.#betweenChunks();
      if (this.#call.closed) return;
    }
  }

  async #sendNearest(scan: NameScan): Promise<void> {
    const { nearest, mask } = this.#plan;
    for (const { view, distance } of nearestMatches(this.#plan, await collect(scan, this.#call))) {
      const field = nearest!.resultField;
      this.#send(
        field === null ? renderDocument(view.version, mask) : renderNeighbour(view.version, mask, field, distance),
      );
    }
  }

  get #full(): boolean {
    return this.#plan.limit !== null && this.#sent >= this.#plan.limit;
  }

  /** Sends a match unless the offset skips it; returns whether to check on the caller. */
  #offer(view: DocumentView): boolean {
    if (this.#skipped < this.#plan.offset) {
      this.#skipped += 1;
      return false;
    }
    const { version } = view;
    if (this.#plan.mask === null && !this.#explain) {
      this.#call.out.appendField(
        documentTag,
        version.slab,
        version.offset,
        version.offset + version.length,
        this.#tail,
      );
      this.#sent += 1;
    } else {
      this.#send(renderDocument(version, this.#plan.mask));
    }
    const fault = this.#fault;
    if (fault !== null && this.#call.out.pendingBytes >= fault.batchBytes) this.#call.out.flush();
    return this.#call.out.chunksSent !== this.#chunksSeen || this.#sent === fault?.documentsMax;
  }

  #send(document: Buffer): void {
    this.#sent += 1;
    const next = this.#explain ? this.#held?.document : document;
    if (this.#explain) this.#held = { document };
    if (next !== undefined) this.#call.out.appendField(documentTag, next, 0, next.length, this.#tail);
  }

  /** Between two chunks: faults happen, the caller may fall behind, the snapshot may get too old. */
  async #betweenChunks(): Promise<void> {
    const { out } = this.#call;
    if (this.#fault !== null) {
      if (this.#sent >= this.#fault.documentsMax) this.#fault.strike(this.#call);
      await this.#fault.delay();
    }
    this.#chunksSeen = out.chunksSent;
    if (out.congested) await out.ready();
    this.#plan.database.checkStillReadable(this.#snapshot.time);
  }

  #close(): void {
    const sandbox = this.#sandbox;
    const call = this.#call;
    const sent = this.#sent;
    const skipped = this.#skipped;
    if (this.#fault !== null && this.#fault.documentsMax <= sent) this.#fault.strike(call);
    const reads = Math.max(1, sent + skipped);
    sandbox.counters.billReads(reads);
    sandbox.counters.method(call.method).documents += sent;
    const readTime = timestampFrom(this.#snapshot.time);
    if (this.#explain) {
      const explainMetrics = {
        planSummary: planSummary(this.#plan),
        executionStats: executionStats(sent, reads, this.#startedAtMs),
      };
      call.out.send(encodeMessage(responseType, { document: this.#held?.document, readTime, explainMetrics }));
    } else if (sent === 0 || skipped > 0) {
      call.out.send(encodeMessage(responseType, { readTime, skippedResults: skipped }));
    }
  }
}

async function collect(scan: NameScan, call: Call): Promise<DocumentView[]> {
  const found: DocumentView[] = [];
  for (let view = scan.next(); view !== undefined; view = scan.next()) {
    if (view === pause) await turn();
    else found.push(view);
    if (call.closed) return [];
  }
  return found;
}

/** Names and update times of a query's result: equal fingerprints mean equal results. */
export function fingerprint(plan: QueryPlan, time: Micros): string {
  return runWhole(plan, time)
    .views.map((view) => `${view.entry.key}@${view.version.updateTime}`)
    .join('\n');
}
