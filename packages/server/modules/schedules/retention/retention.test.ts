import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareCounts } from './anomalies.ts';
import { removalTimes } from './removal-times.ts';
import { keptByRules, periodOf, type RetentionPolicy, type RetentionRules } from './rules.ts';
import { decideRetention, type ProjectState, type RetainedBackup, rollUps } from './verdicts.ts';

const dayMs = 86_400_000;
const at = (text: string) => new Date(text);
const rules = (policy: RetentionPolicy | null, days: number | null = null, timezone = 'UTC'): RetentionRules => ({
  days,
  policy,
  timezone,
});
let counter = 0;
function backup(countsFrom: string | Date, more: Partial<RetainedBackup> = {}): RetainedBackup {
  return {
    id: `bkp_${String(++counter).padStart(6, '0')}`,
    scheduleId: 'sch_1',
    parentId: null,
    standsFor: null,
    scope: 'all',
    isSafety: false,
    isForeign: false,
    countsFrom: new Date(countsFrom),
    expiresAt: null,
    legalHold: false,
    lockedUntil: null,
    inUse: false,
    isBase: false,
    isSealed: false,
    verification: null,
    ...more,
  };
}
function state(backups: RetainedBackup[], of: RetentionRules, more: Partial<ProjectState> = {}): ProjectState {
  return { now: at('2026-06-15T12:00:00Z'), backups, rulesOf: new Map([['sch_1', of]]), frozen: false, ...more };
}
const goes = (project: ProjectState) =>
  [...decideRetention(project).values()].filter(({ keptBy }) => keptBy.length === 0).map(({ id }) => id);

test('a backup made from a foreign file does not count as the newest of the project', () => {
  const own = backup('2026-01-01T00:00:00Z');
  const foreign = backup('2026-05-01T00:00:00Z', { isForeign: true, scheduleId: null });
  for (const backups of [
    [own, foreign],
    [foreign, own],
  ])
    expect(decideRetention(state(backups, rules(null, 1))).get(own.id)!.keptBy).toEqual(['newest_of_project']);
});

describe('rules', () => {
  test('after a pause of any length the rules keep as many as before', () => {
    const daily = [1, 2, 3, 4, 5].map((day) => backup(`2026-01-0${day}T02:00:00Z`));
    const kept = keptByRules(daily, rules({ daily: 3 }), at('2029-01-01T00:00:00Z'));
    expect([...kept.keys()].sort()).toEqual(daily.slice(2).map(({ id }) => id));
  });

  test('the first second of a month belongs to that month, in the zone of the schedule', () => {
    expect(periodOf(at('2026-02-28T23:00:00Z'), 'monthly', 'Europe/Berlin')).toBe('2026-03');
    expect(periodOf(at('2026-02-28T22:59:59.999Z'), 'monthly', 'Europe/Berlin')).toBe('2026-02');
    expect(periodOf(at('2026-12-31T23:00:00Z'), 'yearly', 'Europe/Berlin')).toBe('2027');
  });

  test('weeks begin on Monday, also across the turn of the year', () => {
    expect(periodOf(at('2026-11-15T23:59:59Z'), 'weekly', 'UTC')).toBe('2026-11-09');
    expect(periodOf(at('2026-11-16T00:00:00Z'), 'weekly', 'UTC')).toBe('2026-11-16');
    expect(periodOf(at('2027-01-01T12:00:00Z'), 'weekly', 'UTC')).toBe('2026-12-28');
  });

  test('of one period the newest is kept', () => {
    const [morning, evening] = [backup('2026-01-01T06:00:00Z'), backup('2026-01-01T20:00:00Z')];
    expect([...keptByRules([evening, morning], rules({ daily: 2 }), at('2026-01-02T00:00:00Z')).keys()]).toEqual([
      evening.id,
    ]);
  });

  test('days count from completion, to the millisecond', () => {
    const one = backup('2026-06-01T12:00:00.000Z');
    const other = backup('2026-06-20T00:00:00Z', { scope: 'other' });
    expect(keptByRules([one], rules(null, 14), at('2026-06-15T11:59:59.999Z')).size).toBe(1);
    expect(keptByRules([one], rules(null, 14), at('2026-06-15T12:00:00.000Z')).size).toBe(0);
    expect(goes(state([one, backup('2026-06-14T00:00:00Z'), other], rules(null, 14)))).toEqual([one.id]);
  });
});

describe('what is never removed', () => {
  const old = (more: Partial<RetainedBackup>) => backup('2026-01-01T00:00:00Z', more);
  const newest = () => backup('2026-06-15T00:00:00Z');
  const keptBy = (one: RetainedBackup, more: Partial<ProjectState> = {}) =>
    decideRetention(state([one, newest()], rules({ last: 1 }), more)).get(one.id)!.keptBy;

  test('legal hold, object lock, use, freeze', () => {
    expect(keptBy(old({}))).toEqual([]);
    expect(keptBy(old({ legalHold: true }))).toEqual(['legal_hold']);
    expect(keptBy(old({ lockedUntil: at('2026-06-15T12:00:01Z') }))).toEqual(['object_lock']);
    expect(keptBy(old({ lockedUntil: at('2026-06-15T12:00:00Z') }))).toEqual([]);
    expect(keptBy(old({ inUse: true }))).toEqual(['in_use']);
    expect(keptBy(old({ isBase: true }))).toEqual(['point_in_time']);
    expect(keptBy(old({}), { frozen: true })).toEqual(['retention_frozen']);
  });

  test('the newest good backup of a project, for each scope', () => {
    const good = backup('2026-01-01T00:00:00Z');
    const bad = backup('2026-01-02T00:00:00Z', { verification: 'failed' });
    const elsewhere = backup('2026-01-03T00:00:00Z', { scope: 'users' });
    const verdicts = decideRetention(state([good, bad, elsewhere], rules(null, 7)));
    expect(verdicts.get(good.id)!.keptBy).toEqual(['newest_of_project']);
    expect(verdicts.get(bad.id)!.keptBy).toEqual([]);
    expect(verdicts.get(elsewhere.id)!.keptBy).toEqual(['newest_of_project']);
  });

  test('a safety backup younger than seven days, and a manual one without a term', () => {
    const young = backup('2026-06-08T12:00:00.001Z', { isSafety: true, scheduleId: null });
    const aged = backup('2026-06-08T12:00:00.000Z', { isSafety: true, scheduleId: null });
    const manual = backup('2020-01-01T00:00:00Z', { scheduleId: null });
    const termed = backup('2020-01-01T00:00:00Z', { scheduleId: null, expiresAt: at('2020-02-01T00:00:00Z') });
    expect(goes(state([young, aged, manual, termed, newest()], rules({ last: 1 })))).toEqual([aged.id, termed.id]);
  });

  test('what a kept backup depends on, however old', () => {
    const base = old({});
    const increment = backup('2026-06-14T00:00:00Z', { parentId: base.id });
    const verdicts = decideRetention(state([base, increment, newest()], rules({ last: 2 })));
    expect(verdicts.get(base.id)).toMatchObject({ keptBy: ['needed_by_kept'], neededBy: increment.id });
  });
});

describe('a finished chain of which one increment is left', () => {
  const chain = () => {
    const full = backup('2026-01-01T00:00:00Z');
    const first = backup('2026-01-02T00:00:00Z', { parentId: full.id });
    const second = backup('2026-01-03T00:00:00Z', { parentId: first.id });
    return { full, first, second, next: backup('2026-06-14T00:00:00Z') };
  };

  test('is merged into a full backup that stands for it', () => {
    const { full, first, second, next } = chain();
    const project = state([full, first, second, next], rules({ monthly: 12 }));
    expect(rollUps(project, decideRetention(project))).toEqual([second]);
  });

  test.each([
    ['a hold', { legalHold: true }],
    ['a lock', { lockedUntil: at('2026-07-01T00:00:00Z') }],
    ['a reader', { inUse: true }],
    ['captured time', { isBase: true }],
  ])(
    'is not merged while only %s keeps that very one: the merged one would go at once, and be made again',
    (_by, kept) => {
      const { full, first, second, next } = chain();
      const project = state([full, first, { ...second, ...kept }, next], rules({ last: 1 }));
      expect(rollUps(project, decideRetention(project))).toEqual([]);
    },
  );

  test.each([
    ['its key was withdrawn', { isSealed: true }],
    ['it was found damaged', { verification: 'failed' as const }],
  ])('is not merged when one of it cannot be read, because %s', (_why, unreadable) => {
    const { full, first, second, next } = chain();
    const project = state([full, { ...first, ...unreadable }, second, next], rules({ monthly: 12 }));
    expect(rollUps(project, decideRetention(project))).toEqual([]);
  });

  test('goes as a whole once the merged one was found whole, and not before', () => {
    const { full, first, second, next } = chain();
    const standIn = backup(second.countsFrom, { standsFor: second.id });
    const before = state([full, first, second, next, standIn], rules({ monthly: 12 }));
    expect(goes(before)).toEqual([]);
    expect(rollUps(before, decideRetention(before))).toEqual([]);
    const after = state(
      [full, first, second, next, { ...standIn, verification: 'passed' as const }],
      rules({ monthly: 12 }),
    );
    expect(goes(after)).toEqual([full.id, first.id, second.id]);
  });

  test.each([
    [null, true],
    ['passed', true],
    ['failed', false],
    ['unread', false],
    ['running', false],
  ] as const)(
    'and a damaged merged one goes only where nothing is known against the chain (%s: %s)',
    (known, isGoing) => {
      const { full, first, second, next } = chain();
      const standIn = backup(second.countsFrom, { standsFor: second.id, verification: 'failed' });
      const project = state([full, first, { ...second, verification: known }, next, standIn], rules({ monthly: 12 }));
      expect(goes(project)).toEqual(isGoing ? [standIn.id] : []);
    },
  );

  test('is left alone while it grows, while two are kept, and when it goes soon anyway', () => {
    const { full, first, second, next } = chain();
    const growing = state([full, first, second], rules({ last: 1 }));
    expect(rollUps(growing, decideRetention(growing))).toEqual([]);
    const two = state([full, first, second, next], rules({ daily: 3 }));
    expect(rollUps(two, decideRetention(two))).toEqual([]);
    const soon = state([full, first, second, next], rules(null, 168));
    expect(rollUps(soon, decideRetention(soon))).toEqual([]);
  });
});

describe('the time at which a backup goes', () => {
  const timesOf = (backups: RetainedBackup[], of: RetentionRules, more: Partial<ProjectState> = {}) => {
    const project = state(backups, of, more);
    const times = removalTimes(project, decideRetention(project));
    return backups.map(({ id }) => times.get(id)?.toISOString() ?? null);
  };
  const aged = (more: Partial<RetainedBackup> = {}) => backup('2026-06-01T00:00:00Z', more);
  const newest = () => backup('2026-06-15T00:00:00Z');

  test('is that of its days, and nobody knows it of the newest good one', () => {
    expect(timesOf([aged(), newest()], rules(null, 20))).toEqual(['2026-06-21T00:00:00.000Z', null]);
    expect(timesOf([aged(), newest()], rules({ last: 2 }))).toEqual([null, null]);
    expect(timesOf([aged(), newest()], rules({ last: 1 }))).toEqual(['2026-06-15T12:00:00.000Z', null]);
  });

  test.each([
    ['a hold', { legalHold: true }, null],
    ['captured time', { isBase: true }, null],
    ['a longer lock', { lockedUntil: at('2026-07-01T00:00:00Z') }, '2026-07-01T00:00:00.000Z'],
    ['a shorter lock', { lockedUntil: at('2026-06-16T00:00:00Z') }, '2026-06-21T00:00:00.000Z'],
    ['a reader', { inUse: true }, '2026-06-21T00:00:00.000Z'],
  ])('is not before %s lets go of it', (_by, kept, time) => {
    expect(timesOf([aged(kept), newest()], rules(null, 20))[0]).toBe(time);
  });

  test('is unknown while retention is frozen, and of one that is overdue and read', () => {
    expect(timesOf([aged(), newest()], rules(null, 20), { frozen: true })[0]).toBeNull();
    expect(timesOf([aged({ inUse: true }), newest()], rules(null, 7))[0]).toBeNull();
    const locked = { lockedUntil: at('2026-07-01T00:00:00Z') };
    expect(timesOf([aged(locked), newest()], rules(null, 7))[0]).toBe('2026-07-01T00:00:00.000Z');
  });

  test('is that of the last increment for everything it builds on', () => {
    const full = aged();
    const first = backup('2026-06-05T00:00:00Z', { parentId: full.id });
    const second = backup('2026-06-10T00:00:00Z', { parentId: first.id });
    const end = '2026-06-24T00:00:00.000Z';
    expect(timesOf([full, first, second, newest()], rules(null, 14))).toEqual([end, end, end, null]);
    const held = { ...second, legalHold: true };
    expect(timesOf([full, first, held, newest()], rules(null, 14))).toEqual([null, null, null, null]);
  });
});

/** Written differently: every backup is asked whether it is the newest of its period and how many periods are newer. */
function isKeptByOracle(one: RetainedBackup, all: readonly RetainedBackup[], of: RetentionRules, now: Date): boolean {
  const format = new Intl.DateTimeFormat('en-CA', { timeZone: of.timezone, dateStyle: 'short' });
  const dayOf = (date: Date) => format.format(date).slice(0, 10);
  const mondayOf = (date: Date) => {
    const day = Date.parse(`${dayOf(date)}T00:00:00Z`);
    return String(Math.floor((day / dayMs + 3) / 7));
  };
  const keys: Record<string, (date: Date) => string> = {
    daily: dayOf,
    weekly: mondayOf,
    monthly: (date) => dayOf(date).slice(0, 7),
    yearly: (date) => dayOf(date).slice(0, 4),
  };
  const isNewer = (other: RetainedBackup) =>
    other.countsFrom > one.countsFrom || (other.countsFrom.getTime() === one.countsFrom.getTime() && other.id > one.id);
  const newer = all.filter(isNewer);
  if (of.days === null && of.policy === null) return true;
  if (of.days !== null && now.getTime() - one.countsFrom.getTime() < of.days * dayMs) return true;
  if (newer.length < (of.policy?.last ?? 0)) return true;
  return Object.entries(keys).some(([rule, key]) => {
    const own = key(one.countsFrom);
    const newerKeys = new Set(newer.map((other) => key(other.countsFrom)));
    return !newerKeys.has(own) && newerKeys.size < (of.policy?.[rule as 'daily'] ?? 0);
  });
}

const few = fc.integer({ min: 0, max: 6 });
const anyRules = fc.record({
  days: fc.oneof(fc.constant(null), fc.integer({ min: 1, max: 400 })),
  policy: fc.oneof(fc.constant(null), fc.record({ last: few, daily: few, weekly: few, monthly: few, yearly: few })),
  timezone: fc.constantFrom('UTC', 'Europe/Berlin', 'Pacific/Apia', 'America/St_Johns', 'Asia/Kathmandu'),
});
const anyBackup = fc.record({
  hoursAgo: fc.integer({ min: 0, max: 24 * 900 }),
  isIncrement: fc.boolean(),
  scope: fc.constantFrom('all', 'all', 'all', 'users'),
  manual: fc.boolean(),
  hold: fc.integer({ min: 0, max: 19 }),
});

test('over random projects: what the rules say stays, what it needs stays, and nothing else does', () => {
  const now = at('2026-06-15T12:00:00Z');
  fc.assert(
    fc.property(fc.array(anyBackup, { maxLength: 60 }), anyRules, fc.boolean(), (drawn, of, hasSchedule) => {
      const ordered = drawn.toSorted((left, right) => right.hoursAgo - left.hoursAgo);
      const backups: RetainedBackup[] = [];
      for (const { hoursAgo, isIncrement, scope, manual, hold } of ordered) {
        const parent = backups.findLast((other) => other.scope === scope);
        backups.push(
          backup(new Date(now.getTime() - hoursAgo * 3_600_000), {
            parentId: isIncrement && parent ? parent.id : null,
            scope,
            scheduleId: manual ? null : 'sch_1',
            legalHold: hold === 0,
            inUse: hold === 1,
            lockedUntil: hold === 2 ? new Date(now.getTime() + 1) : null,
          }),
        );
      }
      const project = state(backups, of, { now, ...(hasSchedule ? {} : { rulesOf: new Map() }) });
      const kept = new Set(
        [...decideRetention(project).values()].filter(({ keptBy }) => keptBy.length > 0).map(({ id }) => id),
      );
      const own = backups.filter(({ scheduleId }) => scheduleId !== null);
      const wanted = new Set<string>();
      const want = (one: RetainedBackup | undefined) => {
        for (let each = one; each; each = backups.find(({ id }) => id === each?.parentId)) wanted.add(each.id);
      };
      for (const one of backups) {
        const byRule = one.scheduleId !== null && hasSchedule ? isKeptByOracle(one, own, of, now) : true;
        const isNewest = !backups.some(
          (other) =>
            other.scope === one.scope &&
            (other.countsFrom > one.countsFrom || (+other.countsFrom === +one.countsFrom && other.id > one.id)),
        );
        if (byRule || isNewest || one.legalHold || one.inUse || one.lockedUntil) want(one);
      }
      expect([...kept].sort()).toEqual([...wanted].sort());
    }),
    { numRuns: 500 },
  );
});

test.each(['users', 'constructor', 'toString', '__proto__'])('a collection that vanished is noticed: %s', (name) => {
  const counts = (...entries: [string, number][]) => Object.fromEntries([['others', 3000] as const, ...entries]);
  const before = { id: 'before', documentCount: 4300, collectionCounts: counts([name, 1300]) };
  const after = { id: 'after', documentCount: 3000, collectionCounts: counts() };
  expect(compareCounts(before, after, 50)).toMatchObject({
    reason: 'collection_shrank',
    before: { documentCount: 1300, collection: name },
    after: { documentCount: 0, collection: name },
  });
});
