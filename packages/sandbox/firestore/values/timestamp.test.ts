import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseRfc3339, rfc3339 } from './timestamp.ts';

test('a time in JSON has the digits it needs, in threes, and is read back to the nanosecond', () => {
  // From the year 1 to the end of 9999.
  const seconds = fc.integer({ min: -62_135_596_800, max: 253_402_300_799 });
  const nanos = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 999_999_999 }));
  fc.assert(
    fc.property(seconds, nanos, (second, nano) => {
      const text = rfc3339(second, nano);
      expect(text.slice(0, 19)).toBe(new Date(second * 1000).toISOString().slice(0, 19));
      expect(parseRfc3339(text)).toEqual({ seconds: second, nanos: nano });
    }),
    { numRuns: 1_000 },
  );
  const digits = [0, 5_000_000, 5_000, 5].map((nano) => rfc3339(0, nano));
  expect(digits).toEqual([
    '1970-01-01T00:00:00Z',
    '1970-01-01T00:00:00.005Z',
    '1970-01-01T00:00:00.000005Z',
    '1970-01-01T00:00:00.000000005Z',
  ]);
});
