import { expect, test } from 'vitest';
import { encodeDocument, type JsonFields } from '../../../format/document-json.ts';
import { formatFieldPath, shapeOf } from './field-paths.ts';
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
  const { leaves, maps } = shapeOf(content);
  expect(leaves.map((leaf) => formatFieldPath(leaf.segments)).sort()).toEqual(
    ['plain', 'map.`a.b`', 'map.deep.x', 'empty', 'list', 'vector', '`\\`tick\\\\`', '`1st`'].sort(),
  );
  expect(leaves.filter((leaf) => leaf.isEmptyMap).map((leaf) => leaf.segments)).toEqual([['empty']]);
  expect([...maps].sort()).toEqual(['empty', 'map', 'map.deep']);
});
