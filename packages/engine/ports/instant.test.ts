import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseInstant, parseInstantParts } from './instant.ts';

test('a time of any precision and offset is read to the nanosecond', () => {
  const zones = { Z: 0, '+02:00': 7_200, '-11:30': -41_400 };
  const zone = fc.constantFrom(...(Object.keys(zones) as (keyof typeof zones)[]));
  // From the year 1 to the end of 9999.
  const second = fc.integer({ min: -62_135_596_800, max: 253_402_300_799 });
  fc.assert(
    fc.property(second, fc.stringMatching(/^\d{0,9}$/), zone, (seconds, digits, offset) => {
      const text = new Date(seconds * 1000).toISOString().slice(0, 19);
      const parts = parseInstantParts(`${text}${digits === '' ? '' : `.${digits}`}${offset}`);
      expect(parts).toEqual({ seconds: seconds - zones[offset], nanos: Number(digits.padEnd(9, '0')) });
    }),
    { numRuns: 1_000 },
  );
});

test.each([
  '',
  '2026-01-01',
  '2026-13-01T00:00:00Z',
  '2026-01-01T24:01:00Z',
  '2026-01-01T00:00:00',
  '2026-01-01T00:00:00.Z',
])('"%s" is no time', (text) => expect(parseInstant(text)).toBeUndefined());
