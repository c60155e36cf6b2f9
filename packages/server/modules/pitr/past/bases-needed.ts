import type { ReachableStretch } from '@holdfast/engine';
import type { Transaction } from '../../../platform/database/database.ts';
import { Problem } from '../../../platform/problem.ts';
import type { PitrContext } from '../context.ts';
import { type Base, coverageOfLog, laterOf, stretchesFrom } from '../coverage.ts';
import { pitrStore } from '../pitr-store.ts';
import { retainedFrom } from '../upkeep/retained-from.ts';

/**
 * Throws when captured time can be reached only from these backups. The log is locked, so that of two bases that can
 * replace each other only one is deleted.
 */
export async function requireNotOnlyBase(
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
  const staying = bases.filter((base) => base.isSound && !going.includes(base));
  const lost = notReachedBy(reach(going), reach(staying));
  const [first] = lost;
  if (!first) return;
  const last = lost.map(({ through }) => through).reduce(laterOf);
  throw new Problem(
    'RESOURCE_IN_USE',
    `What point-in-time recovery captured between ${first.from} and ${last} can be reached from this backup alone. Keep it until that is older than the ${row.retentionDays} days of the log, or switch off with deleteLog first.`,
    { details: { usedBy: [{ type: 'pitr', id: row.projectId }] } },
  );
}

/**
 * The fewest backups of schedules and people that must stay so that all captured time remains reachable. The log's own
 * bases are kept anyway.
 */
export async function basesNeeded(
  { backups }: Pick<PitrContext, 'backups'>,
  transaction: Transaction,
  organizationId: string,
  projectId: string,
): Promise<Set<string>> {
  const row = await pitrStore.find(transaction, organizationId, projectId);
  if (!row) return new Set();
  const { bases, log } = await coverageOfLog(transaction, row);
  const from = retainedFrom(row, backups.platform.clock.now());
  const reached = bases.map((base) => ({
    id: base.id,
    isOwn: base.trigger === 'pitr',
    isSound: base.isSound,
    exactFrom: base.exactFrom,
    stretches: stretchesFrom(base, log)
      .filter(({ through }) => through > from)
      .map((one) => ({ ...one, from: laterOf(one.from, from) })),
  }));
  return new Set(fewestThatReach(reached, from));
}

interface Reaching {
  readonly id: string;
  readonly isOwn: boolean;
  readonly isSound: boolean;
  readonly exactFrom: string;
  readonly stretches: readonly ReachableStretch[];
}

/**
 * Among the bases before the oldest kept time, the newest is enough; among the later ones, the oldest reaches the most.
 */
export function fewestThatReach(bases: readonly Reaching[], from: string): string[] {
  const others = bases.filter(({ isOwn }) => !isOwn);
  const older = others
    .filter(({ exactFrom }) => exactFrom <= from)
    .toSorted(byMoment)
    .toReversed();
  const younger = others.filter(({ exactFrom }) => exactFrom > from).toSorted(byMoment);
  const reached = bases.filter(({ isOwn, isSound }) => isOwn && isSound).flatMap(({ stretches }) => stretches);
  const ordered = [...older, ...younger];
  const soundFirst = [...ordered.filter(({ isSound }) => isSound), ...ordered.filter(({ isSound }) => !isSound)];
  return soundFirst.flatMap(({ id, stretches }) => {
    if (notReachedBy(stretches, reached).length === 0) return [];
    reached.push(...stretches);
    return [id];
  });
}

function byMoment(left: Reaching, right: Reaching): number {
  return left.exactFrom < right.exactFrom ? -1 : 1;
}

/**
 * The parts of the stretches that the others do not reach, oldest first. A single instant belongs to the backup itself
 * and is not captured time.
 */
export function notReachedBy(
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
