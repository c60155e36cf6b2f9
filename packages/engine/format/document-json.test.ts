import fc from 'fast-check';
import { expect, test } from 'vitest';
import { arbitraryFields, testDatabase } from '../fixtures/arbitrary-documents.ts';
import { decodeDocument, encodeDocument, stringifyLossless } from './document-json.ts';

test('every value survives bytes → JSON text → bytes exactly', () => {
  fc.assert(
    fc.property(arbitraryFields, (fields) => {
      const bytes = encodeDocument({
        name: `${testDatabase}/documents/a/b`,
        fields,
        updateTime: '2026-01-02T03:04:05.000006Z',
      });
      const text = stringifyLossless(decodeDocument(bytes));
      expect(Buffer.from(encodeDocument(JSON.parse(text)))).toEqual(Buffer.from(bytes));
    }),
    { numRuns: 500 },
  );
});

test('the text has the form of the REST interface', () => {
  const fields = {
    big: { integerValue: '9007199254740993' },
    zero: { doubleValue: -0 },
    when: { timestampValue: '0001-01-01T00:00:00.120Z' },
    none: { arrayValue: {} },
  };
  const text = stringifyLossless(
    decodeDocument(encodeDocument({ name: 'n', fields, createTime: '2026-01-02T03:04:05Z' })),
  );
  expect(text).toBe(
    '{"name":"n","fields":{"big":{"integerValue":"9007199254740993"},"zero":{"doubleValue":-0},' +
      '"when":{"timestampValue":"0001-01-01T00:00:00.120Z"},"none":{"arrayValue":{}}},"createTime":"2026-01-02T03:04:05Z"}',
  );
});
