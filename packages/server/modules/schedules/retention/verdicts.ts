import { dayMs } from '../../../platform/durations.ts';
import type { Verification } from '../../backups/index.ts';
import { dueAfterDays, keptByRules, type RetentionRules, type RuleName } from './rules.ts';

/** A restore can be undone from its safety backup for this long. */
export const safetyBackupDays = 7;
/** A backup that will be removed this soon is not worth merging. */
const rollUpWorthDays = 7;

/** A completed backup of a project, as retention sees it. */
export interface RetainedBackup {
  readonly id: string;
  readonly scheduleId: string | null;
  readonly parentId: string | null;
  /** The backup that this merged one replaces. */
  readonly standsFor: string | null;
  /** What it covers: only a backup of the same scope can replace it. */
  readonly scope: string;
  readonly isSafety: boolean;
  /** Made from a foreign file, so it says nothing about the recent state of the project. */
  readonly isForeign: boolean;
  readonly countsFrom: Date;
  /** Set with the backup itself, or by a schedule that was deleted. */
  readonly expiresAt: Date | null;
  readonly legalHold: boolean;
  readonly lockedUntil: Date | null;
  /** A restore, a drill, a copy or another job reads it now. */
  readonly inUse: boolean;
  /** Needed to reach captured time. */
  readonly isBase: boolean;
  /** Its key was withdrawn. */
  readonly isSealed: boolean;
  readonly verification: Verification;
}

export type Protection =
  | 'legal_hold'
  | 'object_lock'
  | 'in_use'
  | 'point_in_time'
  | 'newest_of_project'
  | 'safety_backup'
  | 'needed_by_kept'
  | 'retention_frozen'
  | 'manual';

export interface Verdict {
  readonly id: string;
  /** Empty when it is removed. */
  readonly keptBy: readonly (RuleName | Protection)[];
  /** The kept backup that cannot be read without it. */
  readonly neededBy: string | null;
  /** When it expires, as far as that is known today. */
  readonly dueAt: Date | null;
}

export interface ProjectState {
  readonly now: Date;
  /** Every completed backup of the project that is not marked for removal. */
  readonly backups: readonly RetainedBackup[];
  /** Rules of the project's schedules. Backups of a deleted schedule expire at the time they were given, or stay. */
  readonly rulesOf: ReadonlyMap<string, RetentionRules>;
  readonly frozen: boolean;
}

/**
 * Decides for every backup of a project what keeps it, or that it is removed. Nothing that is kept depends on something
 * that is removed.
 */
export function decideRetention(state: ProjectState): Map<string, Verdict> {
  const reasons = ownReasons(state);
  const replaced = replacedIds(state.backups);
  const neededBy = new Map<string, string>();
  const byId = new Map(state.backups.map((backup) => [backup.id, backup]));
  for (const backup of state.backups) {
    if ((reasons.get(backup.id) ?? []).length === 0) continue;
    for (let parent = byId.get(backup.parentId ?? ''); parent; parent = byId.get(parent.parentId ?? '')) {
      if (neededBy.has(parent.id)) break;
      neededBy.set(parent.id, backup.id);
    }
  }
  return new Map(
    state.backups.map((backup) => {
      const own = reasons.get(backup.id) ?? [];
      const needed = neededBy.get(backup.id) ?? null;
      const keptBy = needed === null ? own : [...own, 'needed_by_kept' as const];
      const dueAt = dueAtOf(state, backup, own, replaced);
      return [backup.id, { id: backup.id, keptBy, neededBy: needed, dueAt }];
    }),
  );
}

/** All reasons except being needed by other backups. */
function ownReasons(state: ProjectState): Map<string, (RuleName | Protection)[]> {
  const reasons = new Map<string, (RuleName | Protection)[]>();
  const add = (id: string, reason: RuleName | Protection) =>
    void (reasons.get(id)?.push(reason) ?? reasons.set(id, [reason]));
  const replaced = replacedIds(state.backups);
  const unproven = unprovenIds(state.backups);
  const counted = state.backups.filter(({ id }) => !replaced.has(id) && !unproven.has(id));
  for (const [scheduleId, rules] of state.rulesOf) {
    const own = counted.filter((backup) => backup.scheduleId === scheduleId && !backup.isSafety);
    for (const [id, rulesThatKeep] of keptByRules(own, rules, state.now))
      for (const rule of rulesThatKeep) add(id, rule);
  }
  for (const backup of counted) {
    if (!backup.isSafety && state.rulesOf.has(backup.scheduleId ?? '')) continue;
    if (backup.expiresAt === null && !backup.isSafety) add(backup.id, 'manual');
    else if (backup.expiresAt !== null && backup.expiresAt > state.now) add(backup.id, 'days');
  }
  for (const id of newestGood(counted)) add(id, 'newest_of_project');
  const byId = new Map(state.backups.map((backup) => [backup.id, backup]));
  for (const backup of state.backups) {
    for (const protection of protections(backup, state)) add(backup.id, protection);
    const isWaitedFor = unproven.has(backup.id) && !yieldsTo(backup, byId.get(backup.standsFor ?? ''));
    if (isWaitedFor && !backup.inUse) add(backup.id, 'in_use');
  }
  return reasons;
}

function protections(backup: RetainedBackup, { now, frozen }: ProjectState): Protection[] {
  const found: Protection[] = [];
  if (backup.legalHold) found.push('legal_hold');
  if (backup.lockedUntil && backup.lockedUntil > now) found.push('object_lock');
  if (backup.inUse) found.push('in_use');
  if (backup.isBase) found.push('point_in_time');
  if (backup.isSafety && dueAfterDays(backup.countsFrom, safetyBackupDays) > now) found.push('safety_backup');
  if (frozen) found.push('retention_frozen');
  return found;
}

/**
 * The newest backup of each scope whose last verification did not fail: a backup of other collections cannot replace
 * it.
 */
function newestGood(backups: readonly RetainedBackup[]): string[] {
  const newest = new Map<string, RetainedBackup>();
  for (const backup of backups) {
    if (backup.isSafety || backup.verification === 'failed') continue;
    const known = newest.get(backup.scope);
    if (known && !known.isForeign && backup.isForeign) continue;
    const isNewer =
      !known ||
      (known.isForeign && !backup.isForeign) ||
      backup.countsFrom > known.countsFrom ||
      (backup.countsFrom.getTime() === known.countsFrom.getTime() && backup.id > known.id);
    if (isNewer) newest.set(backup.scope, backup);
  }
  return [...newest.values()].map(({ id }) => id);
}

/** A merged backup replaces another one once it was read from end to end and found whole. */
function replacedIds(backups: readonly RetainedBackup[]): Set<string> {
  const standIns = backups.filter(({ standsFor, verification }) => standsFor !== null && verification === 'passed');
  return new Set(standIns.map(({ standsFor }) => standsFor as string));
}

/** A merged backup that was not found whole yet does not count while the one it should replace exists. */
function unprovenIds(backups: readonly RetainedBackup[]): Set<string> {
  const ids = new Set(backups.map(({ id }) => id));
  const standIns = backups.filter(({ standsFor }) => standsFor !== null && ids.has(standsFor));
  return new Set(standIns.filter(({ verification }) => verification !== 'passed').map(({ id }) => id));
}

/**
 * A damaged merged backup is removed and merged again, unless the one it was merged from may be damaged too: each may
 * hold what the other has lost.
 */
function yieldsTo({ verification }: RetainedBackup, original: RetainedBackup | undefined): boolean {
  const isDoubtful = original && original.verification !== null && original.verification !== 'passed';
  return verification === 'failed' && !isDoubtful;
}

function dueAtOf(
  state: ProjectState,
  backup: RetainedBackup,
  own: readonly (RuleName | Protection)[],
  replaced: ReadonlySet<string>,
): Date | null {
  if (own.length === 0 || replaced.has(backup.id)) return state.now;
  const candidates = [
    backup.isSafety ? dueAfterDays(backup.countsFrom, safetyBackupDays) : null,
    backup.expiresAt,
    daysDue(state, backup),
  ].filter((date): date is Date => date !== null);
  const counted = own.some((reason) => reason === 'last' || reason === 'forever' || reason === 'manual');
  if (counted || candidates.length === 0 || own.some((reason) => /ly$/.test(reason))) return null;
  return new Date(Math.max(...candidates.map((date) => date.getTime())));
}

function daysDue(state: ProjectState, backup: RetainedBackup): Date | null {
  const days = backup.scheduleId === null ? null : (state.rulesOf.get(backup.scheduleId)?.days ?? null);
  return days === null ? null : dueAfterDays(backup.countsFrom, days);
}

/** These keep the very backup and not what it holds: a merged one would go at once, and be made again and again. */
const pinning: ReadonlySet<RuleName | Protection> = new Set([
  'legal_hold',
  'object_lock',
  'in_use',
  'point_in_time',
  'needed_by_kept',
]);

/**
 * Increments that are worth merging into a full backup: the only one of a finished chain that is still kept, when
 * everything it builds on is kept only for it.
 */
export function rollUps(state: ProjectState, verdicts: ReadonlyMap<string, Verdict>): RetainedBackup[] {
  if (state.frozen) return [];
  const taken = new Set(state.backups.map(({ standsFor }) => standsFor));
  return chainsOf(state.backups).flatMap((chain) => {
    const [base] = chain as [RetainedBackup, ...RetainedBackup[]];
    const isFinished = state.backups.some(
      (other) => other.parentId === null && other.scope === base.scope && other.countsFrom > chain.at(-1)!.countsFrom,
    );
    const kept = chain.filter(({ id }) => verdicts.get(id)!.keptBy.some((reason) => reason !== 'needed_by_kept'));
    const [only, ...others] = kept;
    if (!isFinished || !only || others.length > 0 || only.parentId === null || taken.has(only.id)) return [];
    const { keptBy, dueAt: due } = verdicts.get(only.id)!;
    if (!keptBy.some((reason) => !pinning.has(reason)) || !chain.every(isReadable)) return [];
    const isShortLived = due !== null && due.getTime() - state.now.getTime() < rollUpWorthDays * dayMs;
    return isShortLived || only.isSafety ? [] : [only];
  });
}

/** As far as that is known: a merge of the others would only fail. */
function isReadable({ isSealed, verification }: RetainedBackup): boolean {
  return !isSealed && verification !== 'failed';
}

/** Each full backup with all its increments, oldest first. */
function chainsOf(backups: readonly RetainedBackup[]): RetainedBackup[][] {
  const byId = new Map(backups.map((backup) => [backup.id, backup]));
  const chains = new Map<string, RetainedBackup[]>();
  for (const backup of [...backups].sort((left, right) => left.countsFrom.getTime() - right.countsFrom.getTime())) {
    let base = backup;
    for (let parent = byId.get(base.parentId ?? ''); parent; parent = byId.get(base.parentId ?? '')) base = parent;
    if (base.parentId !== null) continue;
    chains.set(base.id, [...(chains.get(base.id) ?? []), backup]);
  }
  return [...chains.values()];
}
