import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatFieldPath, parseFieldPath } from './field-path.ts';

test('any path survives being quoted and parsed', () => {
  const segment = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 10 });
  fc.assert(
    fc.property(fc.array(segment, { minLength: 1, maxLength: 4 }), (path) => {
      expect(parseFieldPath(formatFieldPath(path))).toEqual(path);
    }),
  );
});

test.each(['', '.a', 'a.', 'a..b', '`open', '1a', 'a b', 'a`b`', '``'])('the malformed path %j is refused', (text) => {
  expect(() => parseFieldPath(text)).toThrow();
});
