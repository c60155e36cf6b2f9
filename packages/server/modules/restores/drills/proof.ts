import type { DrillReport } from '@holdfast/contract';
import type { Comparison } from './compare-documents.ts';
import type { Digests } from './compare-values.ts';

export type ShowProgress = (done: { restored: number; compared: number; bytes: number }) => Promise<void>;

/** The result of restoring all documents somewhere and reading them back. */
export interface Proof {
  database: string;
  comparison: Comparison;
  digests: Digests;
  restored: number;
  restoreMs: number;
  compareMs: number;
}

/** Whether every document came back with the same values, and no other document did. */
export function isProven(report: DrillReport): boolean {
  const { documentsMatched, documentsExpected, differences, sha256Expected, sha256Restored } = report;
  return documentsMatched === documentsExpected && differences.count === 0 && sha256Expected === sha256Restored;
}
