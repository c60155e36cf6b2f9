import { FieldValue, Firestore } from '@google-cloud/firestore';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { arbitraryFields, testDatabase } from '../fixtures/arbitrary-documents.ts';
import { fieldsOf, harness, openForeign, refusalOf, withoutNestedArrays } from '../fixtures/foreign-files.ts';
import { decodeDocument, encodeDocument, type JsonValue, stringifyLossless } from '../format/document-json.ts';

const parsed = (found: Record<string, string>) =>
  Object.fromEntries(Object.entries(found).map(([path, text]) => [path, JSON.parse(text)]));

/** A value as the exporters of version 1 wrote it. What JSON has no word for at all is left out. */
function plainText(value: JsonValue): string {
  const tagged = (type: string, inside: string) => `{"__datatype__":"${type}","value":${inside}}`;
  if ('integerValue' in value) return value.integerValue;
  if ('doubleValue' in value) return doubleText(Number(value.doubleValue));
  if ('timestampValue' in value) return tagged('timestamp', JSON.stringify(value.timestampValue));
  if ('bytesValue' in value) return tagged('bytes', JSON.stringify(value.bytesValue));
  if ('referenceValue' in value) return tagged('documentReference', JSON.stringify(value.referenceValue));
  if ('geoPointValue' in value) {
    const { latitude, longitude } = value.geoPointValue;
    return tagged('geopoint', stringifyLossless({ _latitude: latitude, _longitude: longitude }));
  }
  if ('arrayValue' in value) return `[${(value.arrayValue.values ?? []).map(plainText).join()}]`;
  if (!('mapValue' in value)) return JSON.stringify(Object.values(value)[0]);
  const fields = Object.entries(value.mapValue.fields ?? {});
  return `{${fields.map(([name, inside]) => `${JSON.stringify(name)}:${plainText(inside)}`).join()}}`;
}

/** A double that is whole is written as one. */
function doubleText(double: number): string {
  const text = stringifyLossless(double);
  return /^-?\d+$/.test(text) ? `${text}.0` : text;
}

describe('a version 1 file', () => {
  const ada = { name: 'Ada', big: { marker: 1 } };
  const shapes: Record<string, string> = {
    bare: '{"users":{"ada":{"n":9007199254740993,"__collections__":{"orders":{"7":{"total":1.5}}}}}}',
    tagged:
      '{"__collections__":{"users":{"ada":{"n":9007199254740993,"__collections__":{"orders":{"7":{"total":1.5,"__collections__":{}}}}}}}}',
    wrapped:
      '{"version":1,"collections":{"users":{"documents":{"ada":{"data":{"n":9007199254740993},"collections":{"orders":{"documents":{"7":{"data":{"total":1.5}}}}}}}}}}',
    listed:
      '{"collections":[{"id":"users","documents":[{"id":"ada","data":{"n":9007199254740993},"subcollections":[{"id":"orders","documents":[{"id":"7","data":{"total":1.5}}]}]}]}]}',
    'by path': '{"users":{"ada":{"n":9007199254740993,"subCollections":{"users/ada/orders":{"7":{"total":1.5}}}}}}',
    'whole path': '{"users":{"ada":{"n":9007199254740993,"subCollection":{"users/ada/orders":{"7":{"total":1.5}}}}}}',
  };

  test.each(Object.entries(shapes))('of the %s shape gives its documents and subcollections', async (name, text) => {
    await harness.store.put(`v1/${name.replace(' ', '-')}.json`, Buffer.from(text));
    expect(await fieldsOf(await openForeign('json', `v1/${name.replace(' ', '-')}.json`))).toEqual({
      'users/ada': '{"n":{"integerValue":"9007199254740993"}}',
      'users/ada/orders/7': '{"total":{"doubleValue":1.5}}',
    });
  });

  test('keeps what JSON cannot say where it was tagged', async () => {
    const document = {
      ...ada,
      at: { _seconds: 1_700_000_000, _nanoseconds: 5000 },
      where: { __datatype__: 'geopoint', value: { _latitude: 1.5, _longitude: -2 } },
      ref: { __datatype__: 'documentReference', value: 'users/bob' },
    };
    await harness.store.put('v1/typed.json', Buffer.from(JSON.stringify({ users: { ada: document } })));
    expect(JSON.parse((await fieldsOf(await openForeign('json', 'v1/typed.json')))['users/ada']!)).toEqual({
      name: { stringValue: 'Ada' },
      big: { mapValue: { fields: { marker: { integerValue: '1' } } } },
      at: { timestampValue: '2023-11-14T22:13:20.000005Z' },
      where: { geoPointValue: { latitude: 1.5, longitude: -2 } },
      ref: { referenceValue: `${testDatabase}/documents/users/bob` },
    });
  });

  test('keeps what a client of Google is turned into by JSON.stringify', async () => {
    const client = new Firestore({ projectId: 'shop' });
    const document = {
      ref: client.doc('users/bob'),
      photo: Buffer.from([0, 255]),
      like: { type: 'Buffer', data: [256] },
      meant: FieldValue.vector([1, 2.5]),
    };
    await harness.store.put('v1/stringified.json', Buffer.from(JSON.stringify({ users: { ada: document } })));
    expect(JSON.parse((await fieldsOf(await openForeign('json', 'v1/stringified.json')))['users/ada']!)).toEqual({
      ref: { referenceValue: `${testDatabase}/documents/users/bob` },
      photo: { bytesValue: 'AP8=' },
      like: {
        mapValue: {
          fields: { type: { stringValue: 'Buffer' }, data: { arrayValue: { values: [{ integerValue: '256' }] } } },
        },
      },
      meant: {
        mapValue: {
          fields: {
            __type__: { stringValue: '__vector__' },
            value: { arrayValue: { values: [{ doubleValue: 1 }, { doubleValue: 2.5 }] } },
          },
        },
      },
    });
  });

  test('leaves a field that is only called like the place of collections as it is', async () => {
    const text = '{"users":{"ada":{"subCollection":{"orders":{"7":{"total":1}}}},"bob":{"subCollection":{}}}}';
    await harness.store.put('v1/field.json', Buffer.from(text));
    const found = await fieldsOf(await openForeign('json', 'v1/field.json'));
    expect(Object.keys(found)).toEqual(['users/ada', 'users/bob']);
    expect(found['users/ada']).toContain('"total":{"integerValue":"1"}');
    await harness.store.put('v1/mixed.json', Buffer.from(text.replace('"orders"', '"a":1,"users/ada/orders"')));
    await expect(openForeign('json', 'v1/mixed.json')).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      message: expect.stringContaining('"a" stands beside its "subCollection"'),
    });
  });

  test.each(['{"users":{"ada":{"n":1}', '[1,2]', '{"users":{"ada":5}}', '{"collections":[{"documents":[]}]}'])(
    'that is broken is refused: %s',
    async (text) => {
      await harness.store.put('v1/broken.json', Buffer.from(text));
      await expect(openForeign('json', 'v1/broken.json')).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
    },
  );

  test.each<[string, string | Buffer, string]>([
    ['in another encoding', Buffer.from('{"users":{"caf\xe9":{"v":1},"caf\xe8":{"v":2}}}', 'latin1'), 'UTF-8'],
    ['with half a character', '{"users":{"\\ud800":{"v":1}}}', 'half a character'],
    ['with an id that leads elsewhere', '{"users":{"a/sub/b":{"v":1},"a":{"v":2}}}', 'slash'],
    ['with an empty id', '{"users":{"":{"v":1}}}', 'empty'],
    ['with a dot for an id', '{"users":{"..":{"v":1}}}', 'no id'],
    ['with a reserved id', '{"users":{"__x__":{"v":1}}}', 'reserved'],
    ['with an id of many bytes', `{"users":{"${'x'.repeat(1600)}":{"v":1}}}`, '1500 bytes'],
    ['with a collection without a name', '{"__collections__":{"":{"ada":{"v":1}}}}', 'empty'],
    ['with a field without a name', '{"users":{"ada":{"":1}}}', 'empty name'],
    ['with a reserved field', '{"users":{"ada":{"m":{"__x__":1}}}}', 'reserved'],
    ['with an array in an array', '{"users":{"ada":{"v":[[1]]}}}', 'array'],
    ['that nests too deep', `{"users":{"ada":{"v":${'{"a":'.repeat(25)}1${'}'.repeat(25)}}}}`, 'levels deep'],
    ['with a number that would be rounded', '{"users":{"ada":{"v":9223372036854775809}}}', 'too large'],
    ['with a number beyond all doubles', '{"users":{"ada":{"v":1e400}}}', 'too large'],
    ['with a document twice', '{"users":{"ada":{"v":1},"bob":{},"ada":{"v":2}}}', 'twice'],
    ['with a field twice', '{"users":{"ada":{"v":1,"v":2}}}', 'twice'],
    ['whose collections are lists', '{"users":[{"id":"ada","v":1}]}', 'is a list'],
    ['of which one collection is a list', '{"users":{"ada":{}},"orders":[{"id":"1"}]}', 'is a list'],
    ['of nothing', '{}', 'no documents'],
    ['of something else', '{"hello":"world"}', 'no documents'],
    ['of empty collections', '{"__collections__":{"users":{}}}', 'no documents'],
  ])('%s is refused and says why', async (_what, text, reason) => {
    await harness.store.put('v1/refused.json', Buffer.from(text));
    await expect(openForeign('json', 'v1/refused.json')).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      message: expect.stringContaining(reason),
    });
  });

  const listed = (document: string) => `{"collections":[{"id":"users","documents":[${document}]}]}`;
  const wrapped = (collections: string) => `{"collections":${collections}}`;

  test.each<[string, string, string[]]>([
    [
      'a collection beside the named ones',
      '{"collections":[{"id":"users","documents":[{"id":"a","data":{"n":1}}]}],"orders":{"o":{"t":1}}}',
      ['orders', 'collections'],
    ],
    [
      'a collection before the named ones',
      '{"orders":{"o":{"t":1}},"collections":[{"id":"users","documents":[{"id":"a","data":{"n":1}}]}]}',
      ['orders', 'collections'],
    ],
    [
      'the same collection beside the named ones',
      '{"collections":{"users":{"documents":{"a":{"data":{}}}}},"users":{"b":{}}}',
      ['users', 'collections'],
    ],
    [
      'two places for collections',
      '{"collections":{"a":{"b":{}}},"__collections__":{"c":{"d":{}}}}',
      ['__collections__'],
    ],
    ['documents in a header', '{"collections":{"a":{"b":{}}},"metadata":{"c":{"d":1}}}', ['metadata']],
    ['a list beside them', '{"collections":{"a":{"b":{}}},"orders":[1]}', ['orders', 'list']],
    [
      'something beside the documents',
      wrapped('{"users":{"documents":{"a":{"data":{}}},"more":{"z":1}}}'),
      ['users', 'more'],
    ],
    ['something before the documents', wrapped('{"users":{"more":{"z":1},"documents":{"a":{"data":{}}}}}'), ['users']],
    [
      'a collection of the other shape',
      wrapped('{"users":{"documents":{"a":{"data":{}}}},"orders":{"o":{"t":1}}}'),
      ['orders', '"o"'],
    ],
    [
      'a field beside the data',
      wrapped('{"users":{"documents":{"a":{"data":{"n":1},"name":"x"}}}}'),
      ['users/a', 'name'],
    ],
    [
      'an unknown key beside the data',
      wrapped('{"users":{"documents":{"a":{"data":{"n":1},"x":1}}}}'),
      ['users/a', 'x'],
    ],
    ['a document without data', wrapped('{"users":{"documents":{"a":{"n":1}}}}'), ['users/a']],
    ['another id than its own', wrapped('{"users":{"documents":{"a":{"id":"b","data":{}}}}}'), ['users/a', 'id']],
    ['fields of a document that is missing', listed('{"id":"a","exists":false,"data":{"n":1}}'), ['users/a', 'exists']],
    ['a listed document with a name beside it', listed('{"data":{"n":1},"name":"x","id":"a"}'), ['users/a', 'name']],
    [
      'a subcollection that is no container',
      listed('{"id":"a","data":{},"subcollections":5}'),
      ['users/a', 'subcollections'],
    ],
    [
      'something beside a listed collection',
      '{"collections":[{"id":"users","documents":[],"more":{"a":{}}}]}',
      ['users', 'more'],
    ],
    ['a listed collection without documents', '{"collections":[{"id":"users","a":{"n":1}}]}', ['users']],
    [
      'a wrapped document in the plain shape',
      '{"users":{"a":{"data":{"n":1},"collections":{"o":{"p":{}}}}}}',
      ['users/a', 'data'],
    ],
    ['wrapped documents in the plain shape', '{"users":{"documents":{"a":{"data":{"n":1}}}}}', ['users', 'documents']],
    [
      'a list of collections in the plain shape',
      '{"users":{"a":{"__collections__":[{"id":"o","documents":[]}]}}}',
      ['users/a'],
    ],
  ])('that mixes shapes is refused and says where: %s', async (_what, text, named) => {
    await harness.store.put('v1/mixed.json', Buffer.from(text));
    const error = await refusalOf(openForeign('json', 'v1/mixed.json'));
    for (const name of named) expect(error).toContain(name);
  });

  test('may say something about itself at its root, which is told', async () => {
    const users = '"users":{"ada":{"n":1}}';
    for (const collections of [users, `"collections":{${users}}`, `"__collections__":{${users}}`]) {
      const text = `{"version":1,${collections},"exportedAt":"today","metadata":{"tool":"x","of":["users"]}}`;
      await harness.store.put('v1/header.json', Buffer.from(text));
      const told: string[] = [];
      const view = await openForeign('json', 'v1/header.json', (warning) => told.push(warning));
      expect(Object.keys(await fieldsOf(view))).toEqual(['users/ada']);
      expect(told).toEqual([
        'v1/header.json: what it says about itself is not part of the backup (version, exportedAt, metadata).',
      ]);
    }
  });

  test('of the plain shape keeps fields and collections whatever they are called', async () => {
    const text = '{"metadata":{"documents":{"data":{"a":1},"id":"x","name":"y"},"d":{"data":{"n":1}}}}';
    await harness.store.put('v1/names.json', Buffer.from(text));
    expect(await fieldsOf(await openForeign('json', 'v1/names.json'))).toEqual({
      'metadata/d': '{"data":{"mapValue":{"fields":{"n":{"integerValue":"1"}}}}}',
      'metadata/documents':
        '{"data":{"mapValue":{"fields":{"a":{"integerValue":"1"}}}},"id":{"stringValue":"x"},"name":{"stringValue":"y"}}',
    });
  });

  test('may repeat who a document is, say that it is missing, and name its id last', async () => {
    const text = listed(
      '{"subcollections":[{"documents":[{"data":{"n":1},"id":"o"}],"id":"orders"}],"exists":false,"path":"users/a","id":"a"},{"name":"b","data":{},"updateTime":"x"}',
    );
    await harness.store.put('v1/last.json', Buffer.from(text));
    const told: string[] = [];
    expect(await fieldsOf(await openForeign('json', 'v1/last.json', (warning) => told.push(warning)))).toEqual({
      'users/a/orders/o': '{"n":{"integerValue":"1"}}',
      'users/b': '{}',
    });
    expect(told).toEqual([expect.stringContaining('updateTime')]);
  });

  const tag = (type: string, value: string) => `{"__datatype__":"${type}","value":${value}}`;
  const seconds = (whole: string, nanos = '0') => `{"_seconds":${whole},"_nanoseconds":${nanos}}`;
  test.each<[string, string]>([
    ['bytes with a foreign sign', tag('bytes', '"aGVsbG8gd29ybGQ*aGVsbG8="')],
    ['bytes of foreign signs', tag('bytes', '"!!!!"')],
    ['bytes without their padding', tag('bytes', '"aGVsbG8"')],
    ['bytes with bits behind their end', tag('bytes', '"aGVsbG9="')],
    ['bytes that are no text', tag('bytes', '5')],
    ['bytes with something beside them', '{"__datatype__":"bytes","value":"","more":1}'],
    ['a tag that nobody knows', tag('colour', '"red"')],
    ['a reference that is no text', tag('documentReference', '5')],
    ['an empty reference', tag('documentReference', '""')],
    ['a reference with a hole', tag('documentReference', '"users//b/c"')],
    ['a reference to a collection', tag('documentReference', '"users"')],
    ['a whole reference to a collection', tag('reference', '"projects/p/databases/d/documents/users"')],
    ['a reference to a reserved name', tag('documentReference', '"users/__x__"')],
    ['a latitude beyond the pole', '{"_latitude":91,"_longitude":0}'],
    ['a longitude beyond the world', tag('geopoint', '{"_latitude":0,"_longitude":-180.5}')],
    ['half a geopoint', tag('geopoint', '{"_latitude":0}')],
    ['a geopoint of texts', '{"_latitude":"1","_longitude":"2"}'],
    ['half a second', seconds('1.5')],
    ['a second of the year 10000', seconds('253402300800')],
    ['a second before the year 1', seconds('-62135596801')],
    ['a second that no date has', seconds('1e15')],
    ['nanoseconds below zero', seconds('1', '-1')],
    ['nanoseconds of a whole second', seconds('1', '1000000000')],
    ['nanoseconds that are not whole', seconds('1', '0.5')],
    ['a timestamp of both forms', tag('timestamp', '{"_seconds":1,"_nanoseconds":0,"seconds":1}')],
    ['a day that is not in the calendar', tag('timestamp', '"2023-02-30T00:00:00Z"')],
    ['an hour that no day has', tag('timestamp', '"2023-01-01T24:00:00Z"')],
    ['the year 0', tag('timestamp', '"0000-12-31T23:59:59Z"')],
    ['a time that is in the year 10000 elsewhere', tag('timestamp', '"9999-12-31T23:59:59-01:00"')],
    ['a time finer than a nanosecond', tag('timestamp', '"2023-01-01T00:00:00.1234567891Z"')],
    ['a number that would become zero', '1e-400'],
    ['a number that would be rounded', '0.12345678901234567890'],
    ['a whole number that would be rounded', '9223372036854775809'],
  ])('with a damaged value is refused and names document and field: %s', async (_what, value) => {
    await harness.store.put('v1/bent.json', Buffer.from(`{"users":{"ada":{"good":1,"list":[{"bad":${value}}]}}}`));
    const error = await refusalOf(openForeign('json', 'v1/bent.json'));
    expect(error).toMatch(/^users\/ada is refused: the field list\[0\]\.bad /);
  });

  test('with a document of which Firestore would not take all is refused and names it', { tags: 'long' }, async () => {
    const size = (path: string, text: number) =>
      path.split('/').reduce((sum, id) => sum + id.length + 1, 16) + 32 + 't'.length + 1 + text + 1;
    const room = 1_048_576 - size('users/ada', 0);
    await harness.store.put('v1/size.json', Buffer.from(`{"users":{"ada":{"t":"${'x'.repeat(room)}"}}}`));
    expect(Object.keys(await fieldsOf(await openForeign('json', 'v1/size.json')))).toEqual(['users/ada']);
    await harness.store.put('v1/size.json', Buffer.from(`{"users":{"ada":{"t":"${'x'.repeat(room + 1)}"}}}`));
    expect(await refusalOf(openForeign('json', 'v1/size.json'))).toContain(
      'users/ada is refused: it is larger than 1 MiB',
    );
    const maps = (levels: number) => `{"users":{"ada":{"v":${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}}}}`;
    await harness.store.put('v1/deep.json', Buffer.from(maps(20)));
    expect(Object.keys(await fieldsOf(await openForeign('json', 'v1/deep.json')))).toEqual(['users/ada']);
    await harness.store.put('v1/deep.json', Buffer.from(maps(21)));
    expect(await refusalOf(openForeign('json', 'v1/deep.json'))).toMatch(
      /^users\/ada is refused: the field v\.a.* 20 levels/,
    );
  });

  test('names the document that is broken or stands twice', { tags: 'long' }, async () => {
    for (const [text, named] of [
      ['{"users":{"ada":{"n":1},"bob":{"n":', 'users/bob'],
      ['{"users":{"ada":{"n":1},"bob":{"m":{"n":1,"n":2}}}}', 'users/bob'],
      ['{"users":{"ada":{"n":1},"bob":{"n":1,"n":2}}}', 'users/bob'],
      ['{"users":{"ada":{"n":1},"bob":{},"ada":{"n":2}}}', 'users/ada'],
    ] as const) {
      await harness.store.put('v1/named.json', Buffer.from(text));
      expect(await refusalOf(openForeign('json', 'v1/named.json')), text).toContain(named);
    }
    const large = (n: number) => `"${n}":{"t":"${'x'.repeat(1_000_000)}"}`;
    const many = Array.from({ length: 20 }, (_, index) => large(index)).join();
    await harness.store.put('v1/named.json', Buffer.from(`{"users":{${many},${large(3)}}}`));
    expect(await refusalOf(openForeign('json', 'v1/named.json'))).toContain('users/3');
  });

  test('of any shape gives every value of every document exactly, or is refused', { tags: 'long' }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(arbitraryFields, { minLength: 1, maxLength: 4 }), async (given) => {
        const documents = given.map((fields) => withoutNestedArrays(fields));
        fc.pre(!/"doubleValue":"/.test(stringifyLossless(documents)));
        const texts = documents.map((fields) => plainText({ mapValue: { fields } }));
        const files = {
          plain: `{"c":{${texts.map((text, id) => `"d${id}":${text}`).join()}}}`,
          wrapped: `{"collections":{"c":{"documents":{${texts.map((text, id) => `"d${id}":{"data":${text}}`).join()}}}}}`,
          listed: `{"collections":[{"id":"c","documents":[${texts.map((text, id) => `{"id":"d${id}","data":${text}}`).join()}]}]}`,
        };
        const expected = Object.fromEntries(
          documents.map((fields, id) => [
            `c/d${id}`,
            stringifyLossless(decodeDocument(encodeDocument({ name: 'n', fields })).fields),
          ]),
        );
        for (const [shape, text] of Object.entries(files)) {
          await harness.store.put('v1/any.json', Buffer.from(text));
          const found = await fieldsOf(await openForeign('json', 'v1/any.json'));
          expect(parsed(found), shape).toEqual(parsed(expected));
        }
      }),
      { numRuns: 40 },
    );
  });

  test('keeps numeric ids, and doubles that were written without an exponent', async () => {
    await harness.store.put('v1/large.json', Buffer.from('{"users":{"__id7__":{"v":100000000000000000000}}}'));
    expect(await fieldsOf(await openForeign('json', 'v1/large.json'))).toEqual({
      'users/__id7__': '{"v":{"doubleValue":100000000000000000000}}',
    });
  });
});
