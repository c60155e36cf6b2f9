import { expect, test } from 'vitest';
import { encodeDocument, type JsonFields } from '../../../format/document-json.ts';
import { fieldsOf, formatName } from './field-paths.ts';
import { contentOf } from './merge-masks.ts';

test('maps are entered; arrays, scalars, vectors and empty maps are leaves; odd names are quoted', () => {
  const fields: JsonFields = {
    plain: { integerValue: '1' },
    map: {
      mapValue: {
        fields: { 'a.b': { nullValue: null }, deep: { mapValue: { fields: { x: { booleanValue: true } } } } },
      },
    },
    empty: { mapValue: {} },
    list: { arrayValue: { values: [{ mapValue: { fields: { y: { nullValue: null } } } }] } },
    vector: { mapValue: { fields: { __type__: { stringValue: '__vector__' }, value: { arrayValue: {} } } } },
    '`tick\\': { nullValue: null },
    '1st': { nullValue: null },
  };
  const content = contentOf(Buffer.from(encodeDocument({ name: 'p/documents/a/b', fields })));
  expect(fieldsOf(content)).toEqual(
    new Map<string, unknown>([
      ['plain', 'value'],
      [
        'map',
        new Map<string, unknown>([
          ['a.b', 'value'],
          ['deep', new Map([['x', 'value']])],
        ]),
      ],
      ['empty', new Map()],
      ['list', 'value'],
      ['vector', 'vector'],
      ['`tick\\', 'value'],
      ['1st', 'value'],
    ]),
  );
  expect(['plain', 'a.b', '`tick\\', '1st'].map(formatName)).toEqual(['plain', '`a.b`', '`\\`tick\\\\`', '`1st`']);
});
