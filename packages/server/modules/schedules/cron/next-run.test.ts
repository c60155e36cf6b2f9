import { describe, expect, test } from 'vitest';
import { parseCron } from './cron-expression.ts';
import { nextRun, nextRuns } from './next-run.ts';

const runs = (cron: string, zone: string, after: string, count: number) =>
  nextRuns(parseCron(cron), zone, new Date(after), count).map((run) => run.toISOString().slice(0, 16));

describe('fixed hours', () => {
  test('a slot inside the gap runs at the first instant after it', () => {
    expect(runs('30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', 2)).toEqual([
      '2026-03-29T01:00',
      '2026-03-30T00:30',
    ]);
  });

  test('several slots of one gap are one run, together with the slot at its end', () => {
    expect(runs('0,20,40 2,3 * * *', 'Europe/Berlin', '2026-03-29T00:00:00Z', 3)).toEqual([
      '2026-03-29T01:00',
      '2026-03-29T01:20',
      '2026-03-29T01:40',
    ]);
  });

  test('a slot of the overlap runs at its first occurrence and not again', () => {
    expect(runs('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 2)).toEqual([
      '2026-10-25T00:30',
      '2026-10-26T01:30',
    ]);
    expect(runs('0,30 2 * * *', 'Europe/Berlin', '2026-10-25T00:45:00Z', 1)).toEqual(['2026-10-26T01:00']);
  });

  test('a gap at midnight does not lose the day', () => {
    expect(runs('0 0 * * *', 'America/Santiago', '2026-09-05T12:00:00Z', 2)).toEqual([
      '2026-09-06T04:00',
      '2026-09-07T03:00',
    ]);
  });

  test('a day that the calendar leaves out runs as the next one begins', () => {
    expect(runs('0 12 * * *', 'Pacific/Apia', '2011-12-29T23:00:00Z', 2)).toEqual([
      '2011-12-30T10:00',
      '2011-12-30T22:00',
    ]);
  });
});

describe('a star or a step in the hour field', () => {
  test('every hour stays every hour when the clock jumps ahead', () => {
    expect(runs('0 * * * *', 'Europe/Berlin', '2026-03-28T23:30:00Z', 4)).toEqual([
      '2026-03-29T00:00',
      '2026-03-29T01:00',
      '2026-03-29T02:00',
      '2026-03-29T03:00',
    ]);
  });

  test('both occurrences of a repeated wall clock run', () => {
    expect(runs('30 */2 * * *', 'Europe/Berlin', '2026-10-24T23:00:00Z', 3)).toEqual([
      '2026-10-25T00:30',
      '2026-10-25T01:30',
      '2026-10-25T03:30',
    ]);
  });

  test('a matching wall inside the gap has no instant', () => {
    expect(runs('30 */2 * * *', 'Europe/Berlin', '2026-03-29T00:00:00Z', 1)).toEqual(['2026-03-29T02:30']);
  });

  test('half an hour of daylight saving is half an hour', () => {
    expect(runs('*/30 * * * *', 'Australia/Lord_Howe', '2026-04-04T14:00:00Z', 4)).toEqual([
      '2026-04-04T14:30',
      '2026-04-04T15:00',
      '2026-04-04T15:30',
      '2026-04-04T16:00',
    ]);
  });
});

test('the first of March comes after steps that February cannot finish', () => {
  expect(runs('0 0 1-31/5 * *', 'UTC', '2026-02-26T00:00:00Z', 2)).toEqual(['2026-03-01T00:00', '2026-03-06T00:00']);
});

test('a leap day is found across a century without one', () => {
  expect(runs('0 0 29 2 *', 'UTC', '2096-03-01T00:00:00Z', 1)).toEqual(['2104-02-29T00:00']);
});

test('the next run is later than the moment asked from, also by a second', () => {
  const noon = parseCron('0 12 * * *');
  expect(nextRun(noon, 'UTC', new Date('2026-05-01T11:59:59.999Z'))?.toISOString()).toBe('2026-05-01T12:00:00.000Z');
  expect(nextRun(noon, 'UTC', new Date('2026-05-01T12:00:00.000Z'))?.toISOString()).toBe('2026-05-02T12:00:00.000Z');
  expect(nextRun(noon, 'UTC', new Date('2026-05-01T12:00:00.001Z'))?.toISOString()).toBe('2026-05-02T12:00:00.000Z');
});
