import { dayMs } from '@holdfast/contract';
import { rhythmOf } from '../../format/cron.ts';

/** What stands by one alone is drawn with the later of two: the last so many are mostly days as well. */
export const rules = ['yearly', 'monthly', 'weekly', 'last', 'daily'] as const;
export type Rule = (typeof rules)[number];

export interface KeptDay {
  /** Midnight in UTC of the day in the schedule's zone. */
  readonly dayMs: number;
  readonly rules: readonly Rule[];
  /** More than one where several runs of the day are among the last so many. */
  readonly backups: number;
}

const yearDays = 365;

interface Kept {
  readonly cron: string;
  readonly keep: Readonly<Record<Rule, number>>;
}

/**
 * The days whose backup would still exist in a year, oldest first, by the service's rules: the newest n, and the newest of each
 * of n days, weeks (from Monday), months and years. Undefined for a cron expression whose days are not computed here.
 */
export function yearAhead({ cron, keep }: Kept, todayMs: number): KeptDay[] | undefined {
  const rhythm = rhythmOf(cron);
  if (rhythm.kind === 'cron') return undefined;
  const runs = (weekday: number) =>
    rhythm.kind === 'week' ? rhythm.weekday === weekday : rhythm.kind !== 'weekdays' || (weekday > 0 && weekday < 6);
  const newestFirst = Array.from({ length: yearDays + 1 }, (_, index) => todayMs + (yearDays - index) * dayMs).filter(
    (day) => runs(new Date(day).getUTCDay()),
  );
  const runsPerDay = rhythm.kind === 'hours' ? 24 / rhythm.every : 1;
  const kept = new Map<number, Rule[]>();
  for (const rule of rules) {
    const count = rule === 'last' ? Math.ceil(keep.last / runsPerDay) : keep[rule];
    for (const day of newestOfEach(newestFirst, rule, count)) kept.set(day, [...(kept.get(day) ?? []), rule]);
  }
  const lastOf = (day: number) => Math.min(runsPerDay, keep.last - newestFirst.indexOf(day) * runsPerDay);
  return [...kept]
    .map(([day, by]) => ({ dayMs: day, rules: by, backups: by.includes('last') ? lastOf(day) : 1 }))
    .sort((a, b) => a.dayMs - b.dayMs);
}

function newestOfEach(newestFirst: readonly number[], rule: Rule, count: number): number[] {
  const newest = new Map<string, number>();
  for (const day of newestFirst) {
    const period = periodOf(day, rule);
    if (newest.has(period)) continue;
    if (newest.size >= count) break;
    newest.set(period, day);
  }
  return [...newest.values()];
}

function periodOf(day: number, rule: Rule): string {
  const date = new Date(day);
  const text = date.toISOString().slice(0, 10);
  if (rule === 'daily' || rule === 'last') return text;
  if (rule === 'monthly') return text.slice(0, 7);
  if (rule === 'yearly') return text.slice(0, 4);
  return String(day - ((date.getUTCDay() + 6) % 7) * dayMs);
}

export const countOf = (days: readonly KeptDay[]): number => days.reduce((sum, { backups }) => sum + backups, 0);
