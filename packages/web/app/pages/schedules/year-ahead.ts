import { dayMs } from '@holdfast/contract';
import { rhythmOf } from '../../format/cron.ts';
import type { Draft } from './draft.ts';

export const rules = ['yearly', 'monthly', 'weekly', 'daily'] as const;
export type Rule = (typeof rules)[number];

export interface KeptDay {
  /** Midnight in UTC of the day in the schedule's zone. */
  readonly dayMs: number;
  readonly rules: readonly Rule[];
}

const yearDays = 365;

/**
 * The days whose backup is still there in a year, oldest first, by the rules of the service: the newest of each of so many days,
 * weeks from Monday on, months and years. Undefined for an expression that no sentence says: its days are not known here.
 */
export function yearAhead({ cron, keep }: Pick<Draft, 'cron' | 'keep'>, todayMs: number): KeptDay[] | undefined {
  const rhythm = rhythmOf(cron);
  if (rhythm.kind === 'cron') return undefined;
  const runs = (weekday: number) =>
    rhythm.kind === 'week' ? rhythm.weekday === weekday : rhythm.kind !== 'weekdays' || (weekday > 0 && weekday < 6);
  const newestFirst = Array.from({ length: yearDays + 1 }, (_, index) => todayMs + (yearDays - index) * dayMs).filter(
    (day) => runs(new Date(day).getUTCDay()),
  );
  const kept = new Map<number, Rule[]>();
  for (const rule of rules)
    for (const day of newestOfEach(newestFirst, rule, keep[rule])) kept.set(day, [...(kept.get(day) ?? []), rule]);
  return [...kept].map(([day, by]) => ({ dayMs: day, rules: by })).sort((a, b) => a.dayMs - b.dayMs);
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
  if (rule === 'daily') return text;
  if (rule === 'monthly') return text.slice(0, 7);
  if (rule === 'yearly') return text.slice(0, 4);
  return String(day - ((date.getUTCDay() + 6) % 7) * dayMs);
}
