import type { Client } from '@holdfast/contract/client';
import { countOf, formatCount, printJson } from '../../output.ts';
import { printRecord } from '../lists.ts';
import type { ServiceOptions } from '../options.ts';

export type Pitr = Awaited<ReturnType<Client['getPitr']>>;

export function showPitr(pitr: Pitr, { json }: ServiceOptions): void {
  if (json) {
    printJson(pitr);
    return;
  }
  const { gaps, error } = pitr;
  printRecord({
    Enabled: pitr.enabled ? 'yes' : 'no',
    Status: pitr.status,
    From: pitr.coveredFrom,
    To: pitr.coveredTo,
    Behind: pitr.lagSeconds === null ? null : countOf(pitr.lagSeconds, 'second'),
    Changes: formatCount(pitr.changesPerHour.reduce((sum, { count }) => sum + count, 0)),
    'Kept for': pitr.retentionDays === null ? null : countOf(pitr.retentionDays, 'day'),
    Destination: pitr.storageDestinationId,
    'Compared at': pitr.lastReconciledAt,
    'Reads used': formatCount(pitr.readsUsed),
    Gaps: gaps.length === 0 ? 'none' : formatCount(gaps.length),
    Error: error === null ? null : `${error.code}: ${error.message}`,
    Advice: error?.advice,
  });
  for (const { from, to, reason } of gaps.slice(-10)) process.stdout.write(`  ${from} – ${to}  ${reason}\n`);
}
