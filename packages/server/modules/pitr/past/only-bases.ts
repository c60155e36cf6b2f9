import type { ReachableStretch } from '@holdfast/engine';
import type { Transaction } from '../../../platform/database/database.ts';
import { Problem } from '../../../platform/problem.ts';
import type { PitrContext } from '../context.ts';
import { type Base, coverageOfLog, laterOf, stretchesFrom } from '../coverage.ts';
import { pitrStore } from '../pitr-store.ts';
import { retainedFrom } from '../upkeep/retained-from.ts';

/**
 * Refuses to take backups away from which alone captured time can be reached that the log still keeps. The log is locked,
 * so that of two bases that stand for each other only one can go.
 */
export async function requireOtherBases(
  { backups }: Pick<PitrContext, 'backups'>,
  transaction: Transaction,
  project: { organizationId: string; projectId: string },
  backupIds: readonly string[],
): Promise<void> {
  const row = await pitrStore.lock(transaction, project.organizationId, project.projectId);
  if (!row) return;
  const { bases, log } = await coverageOfLog(transaction, row);
  const from = retainedFrom(row, backups.platform.clock.now());
  const reach = (those: readonly Base[]) =>
    those.flatMap((base) => stretchesFrom(base, log)).map((one) => ({ ...one, from: laterOf(one.from, from) }));
  const going = bases.filter(({ id }) => backupIds.includes(id));
  const lost = withoutReach(reach(going), reach(bases.filter((base) => !going.includes(base))));
  const [first] = lost;
  if (!first) return;
  const last = lost.map(({ through }) => through).reduce(laterOf);
  throw new Problem(
    'RESOURCE_IN_USE',
    `What point-in-time recovery captured between ${first.from} and ${last} can be reached from this backup alone. Keep it until that is older than the ${row.retentionDays} days of the log, or switch off with deleteLog first.`,
    { details: { usedBy: [{ type: 'pitr', id: row.projectId }] } },
  );
}

/** What of the stretches no other reaches, oldest first. A single instant is the backup's own, and no captured time. */
export function withoutReach(
  stretches: readonly ReachableStretch[],
  others: readonly ReachableStretch[],
): ReachableStretch[] {
  const cut = (pieces: readonly ReachableStretch[], other: ReachableStretch) =>
    pieces.flatMap(({ from, through }) => {
      if (other.through <= from || through <= other.from) return [{ from, through }];
      return [
        { from, through: other.from },
        { from: other.through, through },
      ].filter((piece) => piece.from < piece.through);
    });
  const isTime = ({ from, through }: ReachableStretch) => from < through;
  return others
    .filter(isTime)
    .reduce(cut, stretches.filter(isTime))
    .toSorted((left, right) => (left.from < right.from ? -1 : 1));
}
