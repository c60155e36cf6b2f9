import { describe, expect, test } from 'vitest';
import { CronError, matchesDay, parseCron } from './cron-expression.ts';
import { describeCron } from './describe-cron.ts';

const sorted = (values: Iterable<number>) => [...values].sort((left, right) => left - right);

test('fields take names, ranges, lists and steps', () => {
  const cron = parseCron('0,30 8-18/2 1-31/5 jan,MAR-may Mon-Fri');
  expect(cron.minutes).toEqual([0, 30]);
  expect(cron.hours).toEqual([8, 10, 12, 14, 16, 18]);
  expect(sorted(cron.monthDays)).toEqual([1, 6, 11, 16, 21, 26, 31]);
  expect(sorted(cron.months)).toEqual([1, 3, 4, 5]);
  expect(sorted(cron.weekdays)).toEqual([1, 2, 3, 4, 5]);
});

test('7 is Sunday, alone, in a range and by name', () => {
  for (const field of ['7', '0', 'sun']) expect(sorted(parseCron(`0 0 * * ${field}`).weekdays)).toEqual([0]);
  for (const field of ['5-7', 'fri-sun']) expect(sorted(parseCron(`0 0 * * ${field}`).weekdays)).toEqual([0, 5, 6]);
  expect(sorted(parseCron('0 0 * * */2').weekdays)).toEqual([0, 2, 4, 6]);
});

test('a value with a step goes on to the end of its field', () => {
  expect(parseCron('5/20 * * * *').minutes).toEqual([5, 25, 45]);
});

test('both days set means either; a star leaves the choice to the other', () => {
  const friday13 = parseCron('0 0 13 * 5');
  expect(matchesDay(friday13, { year: 2026, month: 11, day: 13 })).toBe(true);
  expect(matchesDay(friday13, { year: 2026, month: 11, day: 20 })).toBe(true);
  expect(matchesDay(friday13, { year: 2026, month: 10, day: 13 })).toBe(true);
  expect(matchesDay(friday13, { year: 2026, month: 10, day: 14 })).toBe(false);
  const fridays = parseCron('0 0 * * 5');
  expect(matchesDay(fridays, { year: 2026, month: 10, day: 13 })).toBe(false);
});

describe('what is refused', () => {
  const refused = [
    '* * * *',
    '* * * * * *',
    '60 * * * *',
    '* 24 * * *',
    '* * 0 * *',
    '* * 32 * *',
    '* * * 13 *',
    '* * * * 8',
    '* * L * *',
    '* * 15W * *',
    '* * * * 5#2',
    '* * * * 5L',
    '* * ? * *',
    '*/0 * * * *',
    '*/60 * * * *',
    '10-5 * * * *',
    '1- * * * *',
    ', * * * *',
    '1,,2 * * * *',
    '-1 * * * *',
    '1.5 * * * *',
    '* * * foo *',
    '* mon * * *',
    '0 0 30 2 *',
    '0 0 31 4,6,9,11 *',
  ];
  test.each(refused)('%s', (text) => {
    expect(() => parseCron(text)).toThrow(CronError);
  });
});

test('a day that never comes may stand beside a weekday that does', () => {
  expect(() => parseCron('0 0 30 2 1')).not.toThrow();
});

test('an expression is told in words', () => {
  expect(describeCron('0 2 * * *')).toBe('At 02:00');
  expect(describeCron('30 3 * * 1')).toContain('Monday');
  expect(describeCron('0 0 1-7 * 1')).toBe('At 00:00, between day 1 and 7 of the month, or on Monday');
});

test('a step that begins anew with each hour, day or month is not told as a rhythm that goes on', () => {
  expect(describeCron('0 */6 * * *')).toBe('On the hour, every 6 hours');
  expect(describeCron('0 */5 * * *')).toBe('At 00:00, 05:00, 10:00, 15:00 and 20:00');
  expect(describeCron('*/25 * * * *')).toBe('At 0, 25, and 50 minutes past the hour');
  expect(describeCron('0 2 */2 * *')).toBe('At 02:00, every 2 days from the first of each month');
});
