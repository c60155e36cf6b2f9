import { expect, test } from 'vitest';
import { parseMoment } from './moment.ts';

const now = new Date('2026-03-01T12:00:00Z');

test('moments are given in words or as times', () => {
  expect(parseMoment('2 hours ago', now)).toBe('2026-03-01T10:00:00.000Z');
  expect(parseMoment('90 seconds ago', now)).toBe('2026-03-01T11:58:30.000Z');
  expect(parseMoment('an hour ago', now)).toBe('2026-03-01T11:00:00.000Z');
  expect(parseMoment('1.5 days ago', now)).toBe('2026-02-28T00:00:00.000Z');
  expect(parseMoment('2026-03-01T11:59:59.123456Z', now)).toBe('2026-03-01T11:59:59.123456Z');
});

test('an invalid moment is refused with an example', () => {
  for (const text of ['yesterday', '2 fortnights ago', '', '2026-13-45T00:00:00Z', '-1 hours ago'])
    expect(() => parseMoment(text, now), text).toThrow('2 hours ago');
});
