/** A completed backup of a project as in its record, and what retention should know about it by the promises alone. */
export interface Fact {
  readonly id: string;
  readonly scheduleId: string | null;
  readonly parentId: string | null;
  readonly standsFor: string | null;
  readonly countsFromMs: number;
  readonly retentionDays: number | null;
  readonly isHeld: boolean;
  readonly lockedUntilMs: number | null;
  readonly verification: string | null;
}

export interface Rules {
  readonly days: number | null;
  readonly policy: Readonly<Record<string, number>> | null;
}

export const dayMs = 86_400_000;

const periods: Readonly<Record<string, (date: Date) => string>> = {
  daily: (date) => date.toISOString().slice(0, 10),
  weekly: (date) => String(Math.floor((Math.floor(date.getTime() / dayMs) + 3) / 7)),
  monthly: (date) => date.toISOString().slice(0, 7),
  yearly: (date) => date.toISOString().slice(0, 4),
};

/** The ids of the backups that must be kept at this moment. Written without any code of the service's own decision. */
export function wantedIds(facts: readonly Fact[], rules: Rules, nowMs: number): Set<string> {
  const byId = new Map(facts.map((fact) => [fact.id, fact]));
  const proven = new Set(facts.filter(isProvenStandIn).map(({ standsFor }) => standsFor as string));
  const isUnproven = (fact: Fact) =>
    fact.standsFor !== null && byId.has(fact.standsFor) && fact.verification !== 'passed';
  const counted = facts.filter((fact) => !proven.has(fact.id) && !isUnproven(fact));
  const wanted = new Set<string>();
  const want = (fact: Fact) => {
    for (let each: Fact | undefined = fact; each; each = byId.get(each.parentId ?? '')) wanted.add(each.id);
  };
  const ofSchedule = counted.filter(({ scheduleId }) => scheduleId !== null);
  const newest = counted.reduce<Fact | undefined>((best, one) => (!best || isNewer(one, best) ? one : best), undefined);
  for (const fact of facts) {
    const isProtected = fact.isHeld || (fact.lockedUntilMs ?? 0) > nowMs || isUnproven(fact) || fact === newest;
    const byRule = counted.includes(fact) && isKept(fact, ofSchedule, rules, nowMs);
    if (isProtected || byRule) want(fact);
  }
  return wanted;
}

function isProvenStandIn({ standsFor, verification }: Fact): boolean {
  return standsFor !== null && verification === 'passed';
}

function isNewer(left: Fact, right: Fact): boolean {
  return left.countsFromMs > right.countsFromMs || (left.countsFromMs === right.countsFromMs && left.id > right.id);
}

function isKept(fact: Fact, ofSchedule: readonly Fact[], { days, policy }: Rules, nowMs: number): boolean {
  const isYoung = (most: number) => nowMs - fact.countsFromMs < most * dayMs;
  if (fact.scheduleId === null) return fact.retentionDays === null || isYoung(fact.retentionDays);
  if (days === null && policy === null) return true;
  if (days !== null && isYoung(days)) return true;
  const newer = ofSchedule.filter((other) => isNewer(other, fact));
  if (newer.length < (policy?.last ?? 0)) return true;
  return Object.entries(periods).some(([rule, periodOf]) => {
    const newerPeriods = new Set(newer.map(({ countsFromMs }) => periodOf(new Date(countsFromMs))));
    return !newerPeriods.has(periodOf(new Date(fact.countsFromMs))) && newerPeriods.size < (policy?.[rule] ?? 0);
  });
}
