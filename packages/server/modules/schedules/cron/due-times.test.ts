import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseCron } from './cron-expression.ts';
import { lastDueTimes, newestDueTimes } from './due-times.ts';
import { nextRun } from './next-run.ts';

const minuteMs = 60_000;
const field = (first: number, last: number) =>
  fc.oneof(
    fc.constant('*'),
    fc.integer({ min: first, max: last }).map(String),
    fc.integer({ min: 2, max: 6 }).map((step) => `*/${step}`),
    fc.tuple(fc.integer({ min: first, max: last }), fc.integer({ min: first, max: last })).map(([a, b]) => `${a},${b}`),
  );
const crons = fc
  .tuple(field(0, 59), field(0, 23), field(1, 28), field(1, 12), field(0, 6))
  .map((fields) => fields.join(' '));
const zones = fc.constantFrom('UTC', 'Europe/Berlin', 'America/Santiago', 'Australia/Lord_Howe', 'Africa/Casablanca');

test('the newest due times are the last of all that come between two instants', () => {
  const ends = { min: new Date('2025-01-01'), max: new Date('2027-01-01'), noInvalidDate: true };
  const cases = fc.property(crons, zones, fc.date(ends), fc.nat(14 * 24 * 60), fc.nat(5), (...given) => {
    const [cron, zone, until, minutes, count] = given;
    const expression = parseCron(cron);
    const after = new Date(until.getTime() - minutes * minuteMs);
    const all: Date[] = [];
    for (let due = nextRun(expression, zone, after); due && due <= until; due = nextRun(expression, zone, due))
      all.push(due);
    expect(newestDueTimes(expression, zone, { after, until }, count)).toEqual(all.toReversed().slice(0, count));
  });
  fc.assert(cases, { numRuns: 60 });
});

test('they are found in little time, however many there are', () => {
  const november = new Date('2026-11-18T18:00:00Z');
  const before = process.cpuUsage();
  const newest = (cron: string) => lastDueTimes(parseCron(cron), 'America/Santiago', november, 2);
  expect(newest('* 0-23 * 1 *')).toEqual([new Date('2026-02-01T02:59:00Z'), new Date('2026-02-01T02:58:00Z')]);
  expect(newest('* * * 4 *')).toEqual([new Date('2026-05-01T03:59:00Z'), new Date('2026-05-01T03:58:00Z')]);
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(1000);
});
