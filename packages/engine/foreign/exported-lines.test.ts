import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { everyKind } from '../conformance/document-source.conformance.ts';
import { arbitraryFields, testDatabase, testDocument } from '../fixtures/arbitrary-documents.ts';
import { harness, openForeign, refusalOf, withoutNestedArrays } from '../fixtures/foreign-files.ts';
import { MemoryDatabase } from '../fixtures/memory-source.ts';
import { encodeDocument, type JsonFields, type JsonValue, stringifyLossless } from '../format/document-json.ts';
import { exportLines } from '../pipeline/contents/export.ts';
import type { View } from '../pipeline/view/view.ts';
import { comparePaths } from '../ports/path-order.ts';

const file = 'exports/shop.ndjson';

async function textOf(view: View): Promise<string> {
  let text = '';
  for await (const chunk of exportLines(view)) text += chunk;
  return text;
}

/** What Holdfast exports of these documents. */
async function exportOf(documents: readonly { path: string; bytes: Uint8Array }[]): Promise<string> {
  const sorted = [...documents].sort((left, right) => comparePaths(left.path, right.path));
  return textOf(await harness.view(await harness.backUp(new MemoryDatabase(sorted))));
}

async function opened(text: string | Uint8Array, onWarning?: (text: string) => void): Promise<View> {
  await harness.store.put(file, Buffer.from(text));
  return openForeign('ndjson', file, onWarning);
}

const imported = async (text: string, onWarning?: (text: string) => void) => textOf(await opened(text, onWarning));
const refusal = (text: string | Uint8Array) => refusalOf(opened(text));

const embedding = (...doubles: JsonValue[]): JsonValue => ({
  mapValue: { fields: { __type__: { stringValue: '__vector__' }, value: { arrayValue: { values: doubles } } } },
});

function lineOf(path: string, fields: unknown, more: object = {}): string {
  return `${stringifyLossless({ name: `${testDatabase}/documents/${path}`, fields, ...more })}\n`;
}

describe('an export of ours', () => {
  test('comes back line for line, whatever the documents hold', { tags: 'long' }, async () => {
    const paths = ['b/2', 'a/1', 'a/1/x/__id7__', 'a/__id-3__', 'c/é', 'a/0'];
    await fc.assert(
      fc.asyncProperty(fc.array(arbitraryFields, { minLength: 1, maxLength: 6 }), async (given) => {
        const documents = given.map((fields, at) => testDocument(paths[at]!, withoutNestedArrays(fields)));
        const lines = await exportOf(documents);
        expect(await imported(lines)).toBe(lines);
      }),
      { numRuns: 60 },
    );
  });

  test('keeps nanoseconds, signs of zero, embeddings and every kind of value at its edges', async () => {
    const fields: JsonFields = {
      ...everyKind(testDatabase),
      nanos: { timestampValue: '1969-12-31T23:59:59.123456789Z' },
      zero: { doubleValue: -0 },
      north: { geoPointValue: { latitude: -0, longitude: 180 } },
      infinite: { doubleValue: 'Infinity' },
      large: { doubleValue: 1.7976931348623157e308 },
      wholeDouble: { doubleValue: 2 ** 60 },
      elsewhere: { referenceValue: 'projects/other/databases/eu/documents/users/ada' },
      vector: embedding({ doubleValue: 1 }, { doubleValue: 'NaN' }, { doubleValue: -0 }),
    };
    const times = { createTime: '2026-01-02T03:04:05.000000007Z', updateTime: '2026-01-02T03:04:05.123Z' };
    const bytes = encodeDocument({ name: `${testDatabase}/documents/a/b`, fields, ...times });
    const lines = await exportOf([{ path: 'a/b', bytes }]);
    expect(lines).toContain('"1969-12-31T23:59:59.123456789Z"');
    expect(await imported(lines)).toBe(lines);
  });

  test('comes back with documents as large as Firestore takes, in whatever way they are large', {
    tags: 'long',
    timeout: 240_000,
  }, async () => {
    const many = (count: number, value: JsonValue) => ({ arrayValue: { values: Array(count).fill(value) } });
    const large: JsonFields[] = [
      { text: { stringValue: '\u0001'.repeat(1_040_000) } },
      { text: { stringValue: '"\n'.repeat(520_000) } },
      { bytes: { bytesValue: Buffer.alloc(1_040_000, 7).toString('base64') } },
      { list: many(1_040_000, { booleanValue: false }) },
      { list: many(130_000, { integerValue: '1' }) },
      { list: many(60_000, { mapValue: { fields: { a: { doubleValue: 1.5 } } } }) },
    ];
    for (const fields of large) {
      const lines = lineOf('a/b', fields);
      expect((await imported(lines)) === lines, Object.keys(fields).join()).toBe(true);
    }
  });

  test('holds documents that lie twenty levels deep, embeddings among them, and no deeper ones', async () => {
    const nested = (levels: number, value: JsonValue): JsonValue =>
      levels === 0 ? value : { mapValue: { fields: { a: nested(levels - 1, value) } } };
    const lines = lineOf('a/b', { deep: nested(20, embedding({ doubleValue: 1 })) });
    expect(await imported(lines)).toBe(lines);
    expect(await refusal(lineOf('a/b', { deep: nested(21, { nullValue: null }) }))).toBe(
      `Line 1 of ${file}: a/b is refused: it has values nested more than 20 levels deep.`,
    );
  });

  test('of another database becomes one of this, with the references within it', async () => {
    const other = 'projects/old/databases/(default)';
    const reference = (database: string) => ({ referenceValue: `${database}/documents/users/ada` });
    const line = (database: string, own: string) =>
      `${JSON.stringify({ name: `${database}/documents/a/b`, fields: { own: reference(own), far: reference('projects/x/databases/y') } })}\n`;
    expect(await imported(line(other, other))).toBe(line(testDatabase, testDatabase));
    expect(await refusal(line(other, other) + line(testDatabase, other))).toBe(
      `Line 2 of ${file} is of ${testDatabase}, the lines before it are of ${other}.`,
    );
  });

  test('may have its keys in another order, empty lines, a mark at its beginning and the line ends of Windows', async () => {
    const fields = { vector: embedding({ doubleValue: 1.5 }), n: { integerValue: '1' } };
    const name = `${testDatabase}/documents/a/b`;
    const turned = JSON.stringify({
      updateTime: '2026-01-02T03:04:05Z',
      fields,
      createTime: '2026-01-01T00:00:00Z',
      name,
    });
    const times = { createTime: '2026-01-01T00:00:00Z', updateTime: '2026-01-02T03:04:05Z' };
    expect(await imported(`\uFEFF\r\n${turned}\r\n\r\n`)).toBe(lineOf('a/b', fields, times));
  });
});

describe('a damaged export is refused with the number of its line', () => {
  const good = lineOf('a/1', { n: { integerValue: '1' } }) + lineOf('a/2', {});
  const fieldOf = (value: unknown) => lineOf('a/3', { n: value });
  test.each([
    ['cut', lineOf('a/3', {}).slice(0, -9), 'is not readable as JSON; it may be cut short.'],
    ['broken in two', lineOf('a/3', {}).replace(':', ':\n'), 'is not readable as JSON; it may be cut short.'],
    ['two on one line', `${lineOf('a/3', {}).trim()}${lineOf('a/4', {})}`, 'is not readable as JSON'],
    ['a list', '[]\n', ': It is no object'],
    ['wiped', `${'\0'.repeat(40)}\n`, ': It is no object'],
    ['no name', '{"fields":{}}\n', ': It has no name.'],
    ['a path for a name', '{"name":"a/3","fields":{}}\n', ': Its name is not the whole name of a document.'],
    ['a collection', lineOf('a', {}), ': Its name is not the whole name of a document.'],
    ['an empty id', lineOf('a//b/c', {}), 'is no id: it is empty.'],
    ['no fields', `{"name":"${testDatabase}/documents/a/3"}\n`, ': It has no fields.'],
    ['fields that are none', lineOf('a/3', []), 'it has fields that are no object.'],
    [
      'something beside',
      lineOf('a/3', {}, { more: 1 }),
      ': It has "more" beside name, fields, createTime and updateTime.',
    ],
    [
      'a key twice',
      lineOf('a/3', {}).replace('"fields":{}', '"fields":{},"fields":{}'),
      '"fields" stands in it twice.',
    ],
    [
      'a field twice',
      fieldOf({ nullValue: null }).replace('{"n"', '{"n":{"nullValue":null},"n"'),
      'n stands in it twice.',
    ],
    [
      'a time that is none',
      lineOf('a/3', {}, { updateTime: 'now' }),
      'the field updateTime is a timestamp that is not a time.',
    ],
    ['a plain value', fieldOf('x'), 'the field n is no object that tells the type of its value.'],
    ['no value', fieldOf({}), 'the field n has no value.'],
    ['two values', fieldOf({ nullValue: null, stringValue: '' }), 'the field n has more than one value.'],
    ['an unknown type', fieldOf({ intValue: '1' }), 'the field n has the type "intValue", which is not known.'],
    ['no null', fieldOf({ nullValue: 0 }), 'null that is none'],
    ['no boolean', fieldOf({ booleanValue: 'true' }), 'neither true nor false'],
    ['an integer of 65 bits', fieldOf({ integerValue: '9223372036854775808' }), 'not a whole number of 64 bits'],
    ['an integer that is a number', fieldOf({ integerValue: 1 }), 'not a whole number of 64 bits'],
    ['an integer with zeros', fieldOf({ integerValue: '01' }), 'not a whole number of 64 bits'],
    ['a double that is a text', fieldOf({ doubleValue: '1' }), 'is a double that is no number'],
    [
      'a rounded double',
      lineOf('a/3', { n: { doubleValue: 1 } }).replace(':1}', ':0.12345678901234567891}'),
      'would be rounded',
    ],
    ['a day that is none', fieldOf({ timestampValue: '2026-02-30T00:00:00Z' }), 'is a timestamp that is not a time'],
    [
      'ten digits of a second',
      fieldOf({ timestampValue: '2026-01-01T00:00:00.0000000001Z' }),
      'finer than a nanosecond',
    ],
    ['no text', fieldOf({ stringValue: null }), 'is a text that is none'],
    ['no base64', fieldOf({ bytesValue: 'a' }), 'has bytes that are not base64'],
    ['a reference without its database', fieldOf({ referenceValue: 'users/ada' }), 'not the whole name of a document'],
    [
      'a reference to a collection',
      fieldOf({ referenceValue: `${testDatabase}/documents/users` }),
      'leads to no document',
    ],
    ['half a point', fieldOf({ geoPointValue: { latitude: 1 } }), 'geopoint without a latitude and longitude'],
    ['a point that is null', fieldOf({ geoPointValue: null }), 'geopoint without a latitude and longitude'],
    ['a point beyond the pole', fieldOf({ geoPointValue: { latitude: 91, longitude: 0 } }), 'not -90 to 90'],
    ['values that are no list', fieldOf({ arrayValue: { values: {} } }), 'array whose values are no list'],
    ['an array in an array', fieldOf({ arrayValue: { values: [{ arrayValue: {} }] } }), 'an array directly in it'],
    ['a map beside its fields', fieldOf({ mapValue: { a: 1 } }), 'has "a" where only "fields" may be'],
    ['a reserved field', lineOf('a/3', { __x__: { nullValue: null } }), 'reserved by Firestore'],
    ['half an embedding', fieldOf(embedding({ integerValue: '1' })), 'reserved by Firestore'],
    [
      'an embedding of a text',
      fieldOf({ mapValue: { fields: { __type__: { stringValue: '__vector__' }, value: { stringValue: 'x' } } } }),
      'reserved by Firestore',
    ],
    ['too large', fieldOf({ stringValue: 'x'.repeat(1_050_000) }), 'is larger than 1 MiB'],
  ])('%s', async (_what, line, reason) => {
    const sentence = await refusal(good + line + lineOf('a/9', {}));
    expect(sentence).toContain(reason);
    expect(sentence.startsWith(`Line 3 of ${file}`), sentence).toBe(true);
  });

  test('a document that stands in it twice, and a file without one, are refused', async () => {
    expect(await refusal(good + lineOf('a/1', {}))).toBe(`${file} is refused: the document a/1 stands in it twice.`);
    for (const none of ['', '\n\n']) expect(await refusal(none)).toContain('there is no document in it');
  });

  test('cut anywhere, it is refused or read up to a whole line; a last line without an end is told', {
    tags: 'long',
    timeout: 240_000,
  }, async () => {
    const lines = [
      lineOf('a/1', { t: { stringValue: 'é😀"\\' } }),
      lineOf('a/2', {}),
      lineOf('a/3', { n: { nullValue: null } }),
    ];
    const bytes = Buffer.from(lines.join(''));
    for (let length = 1; length <= bytes.length; length++) {
      const warnings: string[] = [];
      const view = opened(bytes.subarray(0, length), (text) => warnings.push(text));
      const text = bytes.toString('utf8', 0, length);
      const whole = lines.findIndex((_, at) => [0, 1].includes(lines.slice(0, at + 1).join('').length - text.length));
      if (whole < 0) {
        const begun = text.split('\n').length;
        expect(await refusalOf(view), text).toContain(`Line ${begun} of ${file}`);
        continue;
      }
      expect(await textOf(await view)).toBe(lines.slice(0, whole + 1).join(''));
      const told = `Line ${whole + 1} of ${file} is the last one and has no end: the file may be cut short.`;
      expect(warnings).toEqual(text.endsWith('\n') ? [] : [told]);
    }
  });

  test('a line without an end is not read for ever', { tags: 'long' }, async () => {
    expect(await refusal(`${good}{"name":${' '.repeat(34_000_000)}`)).toBe(
      `Line 3 of ${file} is refused: it has more than 33554432 bytes.`,
    );
  });

  test('read as the JSON of version 1, it is not taken for collections', async () => {
    await harness.store.put(file, Buffer.from(lineOf('a/1', { n: { integerValue: '1' } })));
    expect(await refusalOf(openForeign('json', file))).toBe(
      `${file} has a document on each line, as Holdfast exports them: its format is ndjson.`,
    );
  });
});
