import { expect, test } from 'vitest';
import { formatBytes } from './output.ts';

test('an amount of bytes is shown in the units of the dashboard', () => {
  const shown = [0, 1, 999, 1000, 487_700, 999_600, 1_961_000, 412_000_000_000].map(formatBytes);
  expect(shown).toEqual(['0 bytes', '1 byte', '999 bytes', '1.0 kB', '488 kB', '1.0 MB', '2.0 MB', '412 GB']);
});
