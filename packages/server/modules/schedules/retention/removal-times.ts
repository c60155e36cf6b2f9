import type { RuleName } from './rules.ts';
import type { ProjectState, Protection, RetainedBackup, Verdict } from './verdicts.ts';

/** Nobody knows how long these keep a backup. */
const endless: ReadonlySet<RuleName | Protection> = new Set([
  'forever',
  'manual',
  'last',
  'daily',
  'weekly',
  'monthly',
  'yearly',
  'legal_hold',
  'point_in_time',
  'newest_of_project',
  'retention_frozen',
]);

/**
 * When each backup goes, as far as that is known today: after its own time, after its lock, and not before anything that
 * cannot be read without it. Null while nobody knows.
 */
export function removalTimes(
  { now, backups }: Pick<ProjectState, 'now' | 'backups'>,
  verdicts: ReadonlyMap<string, Verdict>,
): ReadonlyMap<string, Date | null> {
  const nowMs = now.getTime();
  const neededUntilMs = new Map<string, number>();
  const times = new Map<string, Date | null>();
  // An increment has a later id than what it builds on.
  for (const backup of backups.toSorted(({ id: left }, { id: right }) => (left < right ? 1 : -1))) {
    const { id, parentId } = backup;
    const verdict = verdicts.get(id)!;
    const lastMs = Math.max(nowMs, ownEndMs(backup, verdict), neededUntilMs.get(id) ?? nowMs);
    const isOverdue = verdict.keptBy.length > 0 && lastMs === nowMs;
    const endMs = isOverdue ? Number.POSITIVE_INFINITY : lastMs;
    times.set(id, Number.isFinite(endMs) ? new Date(endMs) : null);
    if (parentId !== null) neededUntilMs.set(parentId, Math.max(endMs, neededUntilMs.get(parentId) ?? nowMs));
  }
  return times;
}

function ownEndMs({ lockedUntil }: RetainedBackup, { keptBy, dueAt }: Verdict): number {
  if (keptBy.some((reason) => endless.has(reason))) return Number.POSITIVE_INFINITY;
  return Math.max(dueAt?.getTime() ?? 0, lockedUntil?.getTime() ?? 0);
}
