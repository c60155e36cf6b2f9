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
  const staying = bases.filter((base) => base.isSound && !going.includes(base));
  const lost = withoutReach(reach(going), reach(staying));
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
 * The backups of schedules and people that must stay so that all captured time stays in reach that the log still keeps: as few
 * as will do. Bases of the log's own stay by themselves.
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

/** Before the oldest time that is kept the newest base does as well as any; behind it the oldest reaches the most. */
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
    if (withoutReach(stretches, reached).length === 0) return [];
    reached.push(...stretches);
    return [id];
  });
}

function byMoment(left: Reaching, right: Reaching): number {
  return left.exactFrom < right.exactFrom ? -1 : 1;
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
