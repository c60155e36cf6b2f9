import type { Transaction } from '../../../platform/database/database.ts';
import type { PitrContext } from '../context.ts';
import { coverageOfLog, findBase } from '../coverage.ts';
import { pitrStore } from '../pitr-store.ts';

/** The bases that open restores of a moment read, each with those restores. None of them may be removed meanwhile. */
export async function basesRead(
  context: Pick<PitrContext, 'momentsRead'>,
  transaction: Transaction,
  organizationId: string,
  projectId: string,
): Promise<Map<string, string[]>> {
  const bases = new Map<string, string[]>();
  const moments = await context.momentsRead(transaction, organizationId, projectId);
  const row = moments.length > 0 ? await pitrStore.find(transaction, organizationId, projectId) : undefined;
  if (!row) return bases;
  const coverage = await coverageOfLog(transaction, row);
  for (const { id, at } of moments) {
    const base = findBase(at, coverage);
    if (base) bases.set(base.id, [...(bases.get(base.id) ?? []), id]);
  }
  return bases;
}
