import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeJson, encodeJson, escapeText, unescapeText } from './json.ts';

const text = fc.string({ unit: fc.constantFrom('a', '0', '1', '\0', '\u001a', '\\', 'u0000', '"', 'é') });

test('every text can be stored and read back, and is never sent in a form that PostgreSQL refuses', () => {
  fc.assert(
    fc.property(text, (given) => {
      expect(escapeText(given)).not.toContain('\0');
      expect(unescapeText(escapeText(given))).toBe(given);
    }),
  );
});

test('every value can be stored and read back, and so can its names', () => {
  const value = fc.letrec((tie) => ({
    value: fc.oneof(text, fc.integer(), fc.constant(null), fc.array(tie('value')), fc.dictionary(text, tie('value'))),
  })).value;
  fc.assert(
    fc.property(value, (given) => {
      const encoded = encodeJson(given);
      expect(encoded).not.toMatch(/(?<!\\)(?:\\\\)*\\u0000/);
      expect(decodeJson(encoded)).toEqual(given);
    }),
  );
});

test('half a character at the end of a cut text is stored in a form that PostgreSQL accepts', () => {
  const cut = `a long name \u{1f600}`.slice(0, -1);
  const encoded = encodeJson({ [cut]: [cut, '\u{1f600}'] });
  expect(encoded).not.toMatch(/\\ud/);
  expect(decodeJson(encoded)).toEqual({ 'a long name \ufffd': ['a long name \ufffd', '\u{1f600}'] });
});
