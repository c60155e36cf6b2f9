import { Temporal } from 'temporal-polyfill';
import { dayMs } from '../../../platform/durations.ts';

/** How many of each calendar period are kept. */
export interface RetentionPolicy {
  last?: number | undefined;
  daily?: number | undefined;
  weekly?: number | undefined;
  monthly?: number | undefined;
  yearly?: number | undefined;
}

export interface RetentionRules {
  /** Days since completion. */
  days: number | null;
  policy: RetentionPolicy | null;
  timezone: string;
}

/** What the rules need to know about a completed backup. */
export interface Completed {
  readonly id: string;
  /** When it was completed; for a merged backup, when the backup that it replaces was. */
  readonly countsFrom: Date;
}

export type RuleName = 'forever' | 'days' | keyof RetentionPolicy;

const periodNames = ['daily', 'weekly', 'monthly', 'yearly'] as const;
type PeriodName = (typeof periodNames)[number];

/**
 * Which rules keep which backup. Periods are calendar periods in the schedule's zone, and only periods with a backup
 * are counted: after a pause of any length the rules keep as many as before. A backup without an entry is kept by no
 * rule.
 */
export function keptByRules(
  backups: readonly Completed[],
  rules: RetentionRules,
  now: Date,
): ReadonlyMap<string, readonly RuleName[]> {
  const kept = new Map<string, RuleName[]>();
  const keep = (id: string, rule: RuleName) => void (kept.get(id)?.push(rule) ?? kept.set(id, [rule]));
  const newestFirst = [...backups].sort(byNewest);
  if (rules.days === null && rules.policy === null) for (const { id } of newestFirst) keep(id, 'forever');
  if (rules.days !== null)
    for (const { id, countsFrom } of newestFirst)
      if (dueAfterDays(countsFrom, rules.days).getTime() > now.getTime()) keep(id, 'days');
  const policy = rules.policy ?? {};
  for (const { id } of newestFirst.slice(0, policy.last ?? 0)) keep(id, 'last');
  for (const period of periodNames)
    for (const id of newestOfEach(newestFirst, period, policy[period] ?? 0, rules.timezone)) keep(id, period);
  return kept;
}

export function dueAfterDays(countsFrom: Date, days: number): Date {
  return new Date(countsFrom.getTime() + days * dayMs);
}

function newestOfEach(
  newestFirst: readonly Completed[],
  period: PeriodName,
  count: number,
  timezone: string,
): string[] {
  const newest = new Map<string, string>();
  for (const { id, countsFrom } of newestFirst) {
    const key = periodOf(countsFrom, period, timezone);
    if (newest.has(key)) continue;
    if (newest.size >= count) break;
    newest.set(key, id);
  }
  return [...newest.values()];
}

/** The day, week (from Monday), month or year of an instant. */
export function periodOf(instant: Date, period: PeriodName, timezone: string): string {
  const local = Temporal.Instant.fromEpochMilliseconds(instant.getTime()).toZonedDateTimeISO(timezone).toPlainDate();
  if (period === 'daily') return local.toString();
  if (period === 'weekly') return local.subtract({ days: local.dayOfWeek - 1 }).toString();
  return local.toString().slice(0, period === 'monthly' ? -3 : -6);
}

/** Newest first; at the same instant, the later id first. */
export function byNewest(left: Completed, right: Completed): number {
  return right.countsFrom.getTime() - left.countsFrom.getTime() || (left.id < right.id ? 1 : -1);
}
