import type { DataOf, Operations } from '@holdfast/contract';
import { rampedSeconds } from '@holdfast/engine';

/**
 * List prices in USD per operation, for a multi-region database: the higher price, so that nobody pays more than
 * estimated.
 */
const pricePerRead = 0.06 / 100_000;
const pricePerWrite = 0.18 / 100_000;
const pricePerDelete = 0.02 / 100_000;
/** Firestore charges aggregation one read per 1,000 index entries. */
const entriesPerAggregationRead = 1000;
/** The assumed size of a document when there is no backup to learn from. */
export const documentBytesGuess = 600;
/** Measured rates of this service against a nearby database, rounded down. */
const readsPerSecond = 20_000;
const writesPerSecond = 5000;
/** The assumed share of documents that changes between two increments. */
const changedShare = 0.01;

export type CostEstimate = DataOf<Operations['estimateProjectCost']>;

export interface CostBasis {
  documentCount: number;
  bytesPerDocument: number;
  /** Null: no limit. */
  readRateLimit: number | null;
  writeRampUp: boolean;
}

/** What jobs would cost. Every scanned document is one read, also when only its name is requested. */
export function estimateCost({ documentCount, bytesPerDocument, ...pace }: CostBasis): CostEstimate {
  const bytes = Math.ceil(documentCount * bytesPerDocument);
  const changed = Math.ceil(documentCount * changedShare);
  const reads = documentCount + aggregationReads(documentCount);
  return {
    documentCount,
    currency: 'USD',
    full: job({ reads, writes: 0, deletes: 0, bytes }, pace),
    incremental: job(
      { reads: reads + changed, writes: 0, deletes: 0, bytes: Math.ceil(changed * bytesPerDocument) },
      pace,
    ),
    restore: job({ reads: 0, writes: documentCount, deletes: 0, bytes }, pace),
  };
}

export function aggregationReads(documentCount: number): number {
  return Math.ceil(documentCount / entriesPerAggregationRead);
}

export function readCost(reads: number): number {
  return money(reads * pricePerRead);
}

export function readSeconds(reads: number, readRateLimit: number | null): number {
  return Math.ceil(reads / Math.min(readsPerSecond, readRateLimit ?? readsPerSecond));
}

/** Firestore wants writes to begin slowly; a restore does so unless the project says otherwise. */
function writeSeconds(writes: number, rampUp: boolean): number {
  return Math.ceil(rampUp ? rampedSeconds(writes, writesPerSecond) : writes / writesPerSecond);
}

function job(
  work: { reads: number; writes: number; deletes: number; bytes: number },
  { readRateLimit, writeRampUp }: Pick<CostBasis, 'readRateLimit' | 'writeRampUp'>,
): CostEstimate['full'] {
  const cost = money(work.reads * pricePerRead + work.writes * pricePerWrite + work.deletes * pricePerDelete);
  return {
    ...work,
    cost,
    durationSeconds: readSeconds(work.reads, readRateLimit) + writeSeconds(work.writes + work.deletes, writeRampUp),
  };
}

function money(amount: number): number {
  return Math.round(amount * 1e6) / 1e6;
}
