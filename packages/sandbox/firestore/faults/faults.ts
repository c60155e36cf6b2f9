import { setTimeout as sleep } from 'node:timers/promises';
import type { Call } from '../transport/call.ts';
import { type CodeName, grpcCode, RpcError } from '../transport/status.ts';
import { Random } from './random.ts';

export interface FaultRule {
  /** The RPC by its bare name (`Commit`); absent, every RPC. */
  readonly method?: string;
  /** Fails only the write of the document at this path in a BatchWrite; the others are made. */
  readonly document?: string;
  /** Calls end with this status instead of being served. */
  readonly status?: CodeName;
  readonly message?: string;
  /** Wait before a call is served. */
  readonly latencyMs?: number;
  /**
   * Waits until this is settled before a call is served; with `batchLatencyMs`, after each document sent to a listener.
   */
  readonly until?: Promise<unknown>;
  /** Wait before each batch of streamed documents is sent. Batches are then 16 KiB, the frames of a server on the network. */
  readonly batchLatencyMs?: number;
  /** A stream breaks after this many documents: with `status`, or without any when `reset` is set. */
  readonly breakAfterDocuments?: number;
  readonly reset?: boolean;
  /** Lets the call take effect and then loses its answer: a commit that happened but looks as if it had not. */
  readonly afterEffect?: boolean;
  /** The share of calls it hits, 0 to 1 (1). */
  readonly probability?: number;
  /** Ends after this many hits (never). */
  readonly times?: number;
  /** Calls it lets pass first (0). */
  readonly skip?: number;
}

interface ArmedRule {
  readonly rule: FaultRule;
  hits: number;
  seen: number;
}

export interface WriteQuota {
  readonly documentsPerSecond: number;
}

const messages: Partial<Record<CodeName, string>> = {
  ABORTED: 'Too much contention on these documents. Please try again.',
  RESOURCE_EXHAUSTED: 'Quota exceeded.',
  UNAVAILABLE: 'The service is currently unavailable.',
  DEADLINE_EXCEEDED: 'Deadline exceeded.',
  PERMISSION_DENIED: 'Missing or insufficient permissions.',
  UNAUTHENTICATED: 'Request had invalid authentication credentials.',
};

/** Misbehaviour on demand, the same for the same seed. */
export class Faults {
  #rules: ArmedRule[] = [];
  #random = new Random(1);
  #quota: WriteQuota | null = null;
  #quotaTokens = 0;
  #quotaFilledAtMs = 0;

  add(rule: FaultRule): void {
    if (rule.status !== undefined && !(rule.status in grpcCode)) throw new TypeError(`Unknown status ${rule.status}.`);
    this.#rules.push({ rule, hits: 0, seen: 0 });
  }

  /** The next number of the seeded sequence, 0 to 1. */
  random(): number {
    return this.#random.next();
  }

  seed(seed: number): void {
    this.#random = new Random(seed);
  }

  /** Writes above this rate are answered with RESOURCE_EXHAUSTED; null removes the quota. */
  setWriteQuota(quota: WriteQuota | null): void {
    this.#quota = quota;
    this.#quotaTokens = quota?.documentsPerSecond ?? 0;
    this.#quotaFilledAtMs = performance.now();
  }

  reset(): void {
    this.#rules = [];
    this.setWriteQuota(null);
  }

  /** How often each rule has hit, in the order they were added. */
  hits(): number[] {
    return this.#rules.map(({ hits }) => hits);
  }

  /** Called before a call is served: waits, or throws the status with which it ends. */
  async before(call: Call): Promise<void> {
    for (const armed of this.#rules) {
      const { rule } = armed;
      if (isStreamRule(rule) || rule.afterEffect || rule.document !== undefined) continue;
      if (!this.#strikes(armed, call.method)) continue;
      if (rule.latencyMs !== undefined) await sleep(rule.latencyMs);
      await rule.until;
      if (rule.reset) call.reset();
      else if (rule.status !== undefined) throw faultError(rule.status, rule.message);
    }
  }

  /** Called before one write of several: throws the status of this write alone. */
  beforeWrite(call: Call, path: string): void {
    for (const armed of this.#rules) {
      const { status, document, message } = armed.rule;
      if (document !== path || status === undefined || !this.#strikes(armed, call.method)) continue;
      throw faultError(status, message);
    }
  }

  /** After a call has taken effect and before its answer leaves. */
  afterEffect(call: Call): void {
    for (const armed of this.#rules) {
      if (!armed.rule.afterEffect || !this.#strikes(armed, call.method)) continue;
      throw faultError(armed.rule.status ?? 'UNAVAILABLE', armed.rule.message);
    }
  }

  /** What will happen to the stream of this call, decided once. */
  streamFault(call: Call): StreamFault | null {
    for (const armed of this.#rules) {
      if (isStreamRule(armed.rule) && this.#strikes(armed, call.method)) return new StreamFault(armed.rule);
    }
    return null;
  }

  /** Takes `count` writes from the quota and says how many of them it covers. */
  admitWrites(count: number): number {
    if (this.#quota === null) return count;
    const now = performance.now();
    const refill = ((now - this.#quotaFilledAtMs) / 1000) * this.#quota.documentsPerSecond;
    this.#quotaFilledAtMs = now;
    this.#quotaTokens = Math.min(this.#quota.documentsPerSecond, this.#quotaTokens + refill);
    const admitted = Math.min(count, Math.floor(this.#quotaTokens));
    this.#quotaTokens -= admitted;
    return admitted;
  }

  #strikes(armed: ArmedRule, method: string): boolean {
    const { rule } = armed;
    if (rule.method !== undefined && rule.method !== method) return false;
    if (rule.times !== undefined && armed.hits >= rule.times) return false;
    armed.seen += 1;
    if (armed.seen <= (rule.skip ?? 0)) return false;
    if (rule.probability !== undefined && this.#random.next() >= rule.probability) return false;
    armed.hits += 1;
    return true;
  }
}

function isStreamRule(rule: FaultRule): boolean {
  return rule.breakAfterDocuments !== undefined || rule.batchLatencyMs !== undefined;
}

function faultError(status: CodeName, message?: string): RpcError {
  return new RpcError(status, message ?? messages[status] ?? `Injected ${status}.`);
}

const slowBatchBytes = 16 * 1024;

/** A fault that strikes in the middle of a stream. */
export class StreamFault {
  readonly #rule: FaultRule;

  constructor(rule: FaultRule) {
    this.#rule = rule;
  }

  get documentsMax(): number {
    return this.#rule.breakAfterDocuments ?? Number.POSITIVE_INFINITY;
  }

  /** Breaks the stream: resets it, or throws the status it ends with. */
  strike(call: Call): void {
    call.out.flush();
    if (this.#rule.reset) call.reset();
    else throw faultError(this.#rule.status ?? 'UNAVAILABLE', this.#rule.message);
  }

  /** How much is sent at a time; a stream without latency sends as much as it can. */
  get batchBytes(): number {
    return this.#rule.batchLatencyMs === undefined ? Number.POSITIVE_INFINITY : slowBatchBytes;
  }

  async delay(): Promise<void> {
    if (this.#rule.batchLatencyMs !== undefined) await sleep(this.#rule.batchLatencyMs);
    await this.#rule.until;
  }
}
