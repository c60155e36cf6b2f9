import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { arbitraryFields, testDatabase } from '../fixtures/arbitrary-documents.ts';
import { BackupHarness } from '../fixtures/backup-harness.ts';
import { encodeEntity, levelDbLog, writeManagedExport } from '../fixtures/managed-export-writer.ts';
import {
  decodeDocument,
  encodeDocument,
  type JsonFields,
  type JsonValue,
  stringifyLossless,
} from '../format/document-json.ts';
import { writeViewAsBackup } from '../pipeline/backup/write-view.ts';
import { readRecords } from '../pipeline/segments/read-records.ts';
import type { View } from '../pipeline/view/view.ts';
import { crc32c, maskedCrc32c } from '../stores/crc32c.ts';
import { createMemoryStore } from '../stores/memory/memory-store.ts';
import { type ForeignFormat, openForeignView } from './foreign-view.ts';
import { fragmentHeaderBytes, fragmentType, logBlockBytes } from './leveldb-log.ts';

const harness = new BackupHarness();

async function open(
  format: ForeignFormat,
  path: string,
  onWarning: (text: string) => void = () => undefined,
): Promise<View> {
  return await openForeignView({
    store: harness.store,
    onWarning,
    path,
    format,
    database: testDatabase,
    scratch: createMemoryStore(),
    codec: harness.codec,
  });
}

async function fieldsOf(view: View): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for await (const batch of view.records()) {
    for (const { path, body } of readRecords(batch, testDatabase))
      found[path] = stringifyLossless(decodeDocument(body).fields);
  }
  return found;
}

/** Arrays in arrays exist in no document; the export cannot say them. */
function withoutNestedArrays(fields: JsonFields, isInArray = false): JsonFields {
  const clean = (value: JsonValue, inArray: boolean): JsonValue => {
    if ('arrayValue' in value) {
      if (inArray) return { nullValue: null };
      const values = (value.arrayValue.values ?? []).map((element) => clean(element, true));
      return { arrayValue: values.length === 0 ? {} : { values } };
    }
    if (!('mapValue' in value) || value.mapValue.fields === undefined) return value;
    return { mapValue: { fields: withoutNestedArrays(value.mapValue.fields) } };
  };
  // Nor do fields without a name, or with one that is reserved.
  const nameOf = (key: string) => (key === '' || /^__.*__$/s.test(key) ? `named ${key}` : key);
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [nameOf(key), clean(value, isInArray)]));
}

test('CRC-32C is the one of the standard', () => {
  expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283);
});

describe('a managed export', () => {
  test('reads back every value of every document, in the order of paths', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(arbitraryFields, { minLength: 1, maxLength: 6 }), async (given) => {
        const paths = ['b/2', 'a/1', 'a/1/x/__id7__', 'a/__id-3__', 'c/é', 'a/0'];
        const documents = given.map((fields, index) => ({ path: paths[index]!, fields: withoutNestedArrays(fields) }));
        await writeManagedExport(harness.store, 'exports/one', 'demo', [documents.slice(0, 3), documents.slice(3)]);
        const found = await fieldsOf(await open('firestore-export', 'exports/one'));
        const viaBytes = (fields: JsonFields) =>
          stringifyLossless(decodeDocument(encodeDocument({ name: 'n', fields })).fields);
        for (const { path, fields } of documents)
          expect(JSON.parse(found[path]!)).toEqual(JSON.parse(viaBytes(fields)));
        expect(Object.keys(found)).toHaveLength(documents.length);
      }),
      { numRuns: 30 },
    );
  });

  test('with records larger than a block becomes a backup that reads the same', async () => {
    const text = 'x'.repeat(100_000);
    const documents = Array.from({ length: 20 }, (_, index) => ({
      path: `big/${index}`,
      fields: { text: { stringValue: `${index}${text}` } },
    }));
    await writeManagedExport(harness.store, 'exports/big', 'demo', [documents]);
    const view = await open('firestore-export', 'exports/big/big.overall_export_metadata');
    const given = {
      database: testDatabase,
      records: view.records(),
      type: 'full' as const,
      snapshotTime: '2026-01-01T00:00:00.000000000Z',
    };
    await writeViewAsBackup(given, {
      store: harness.store,
      keys: harness.keys,
      codec: harness.codec,
      backupId: 'imported',
    });
    expect(await fieldsOf(await harness.view('imported'))).toEqual(await fieldsOf(view));
  });

  test('that is unfinished, cut, changed or incomplete is refused', async () => {
    await writeManagedExport(harness.store, 'exports/x', 'demo', [
      [{ path: 'a/1', fields: { t: { stringValue: 'y'.repeat(70_000) } } }],
      [{ path: 'a/2', fields: {} }],
    ]);
    const output = 'exports/x/all_namespaces/all_kinds/output-0';
    const bytes = new Uint8Array(await harness.store.get(output));
    for (const length of [bytes.length - 1, 40_000, 3]) {
      await harness.store.put(output, bytes.slice(0, length));
      await expect(open('firestore-export', 'exports/x'), String(length)).rejects.toMatchObject({
        code: 'INTEGRITY_ERROR',
      });
    }
    const changed = bytes.slice();
    changed[50_000] = changed[50_000]! ^ 1;
    await harness.store.put(output, changed);
    await expect(open('firestore-export', 'exports/x')).rejects.toMatchObject({ code: 'INTEGRITY_ERROR' });
    await harness.store.delete([output]);
    await expect(open('firestore-export', 'exports/x')).rejects.toMatchObject({ code: 'INTEGRITY_ERROR' });
    await harness.store.delete(['exports/x/x.overall_export_metadata']);
    await expect(open('firestore-export', 'exports/x')).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
  });
});

describe('an export of which something would be lost', () => {
  const folder = 'exports/lossy';
  const output = (number: number) => `${folder}/all_namespaces/all_kinds/output-${number}`;
  const write = (...outputs: Parameters<typeof writeManagedExport>[3][number][]) =>
    writeManagedExport(harness.store, folder, 'demo', outputs);
  const one = (path: string, fields: JsonFields = {}) => ({ path, fields });
  const replace = (number: number, ...entities: Uint8Array[]) =>
    harness.store.put(output(number), levelDbLog(entities));
  const refusal = async () => {
    const error = await open('firestore-export', folder).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    return (error as Error | undefined)?.message ?? 'it was taken';
  };

  test('is refused with the reason', async () => {
    await write([one('a/1')], [one('a/1', { n: { integerValue: '2' } })]);
    expect(await refusal()).toContain('a document stands in it twice');
    await write([one('a/1')]);
    const twice = encodeEntity('demo', 'a/1', { n: { integerValue: '1' } });
    await replace(0, Buffer.concat([twice, twice]));
    expect(await refusal()).toBe('a/1 is refused: the field n stands in it twice.');
    const text = Buffer.from(encodeEntity('demo', 'a/1', { n: { stringValue: 'café' } }));
    text.writeUInt16BE(0xfffe, text.indexOf(Buffer.from('é')));
    await replace(0, text);
    expect(await refusal()).toBe('a/1 is refused: A text is not UTF-8.');
    let deep: JsonFields = { n: { integerValue: '1' } };
    for (let level = 0; level < 21; level += 1) deep = { m: { mapValue: { fields: deep } } };
    await replace(0, encodeEntity('demo', 'a/1', deep));
    expect(await refusal()).toContain('nested more than 20 levels');
    await replace(0, encodeEntity('demo', 'a/1', { t: { stringValue: 'x'.repeat(1_100_000) } }));
    expect(await refusal()).toContain('larger than 1 MiB');
    await replace(0, encodeEntity('demo', Array.from({ length: 101 }, () => 'c/d').join('/'), {}));
    expect(await refusal()).toContain('more than 100 collections');
    await replace(0, encodeEntity('demo', 'a/1', { '': { integerValue: '1' } }));
    expect(await refusal()).toContain('empty name');
  });

  test('because a file of it is wiped or missing is refused, and one that is empty is told', async () => {
    await write([one('a/1')], [one('a/2')], [one('a/3')]);
    await harness.store.put(output(1), new Uint8Array(1000));
    expect(await refusal()).toContain('damaged or cut short');
    await harness.store.delete([output(1)]);
    const metadata = `${folder}/all_namespaces/all_kinds/all_namespaces_all_kinds.export_metadata`;
    await harness.store.put(metadata, levelDbLog([Buffer.from('nothing is named')]));
    expect(await refusal()).toBe('The export misses output-1.');
    await harness.store.put(output(1), new Uint8Array(0));
    const told: string[] = [];
    const view = await open('firestore-export', folder, (text) => told.push(text));
    expect([Object.keys(await fieldsOf(view)), told]).toEqual([
      ['a/1', 'a/3'],
      [`The export file ${output(1)} is empty.`],
    ]);
    for (const number of [0, 2]) await harness.store.put(output(number), new Uint8Array(0));
    expect(await refusal()).toContain('there is no document in it');
  });
});

describe('an export that is made to hurt', () => {
  test('by fragments without end or content is damaged', async () => {
    await writeManagedExport(harness.store, 'exports/bits', 'demo', [[{ path: 'a/1', fields: {} }]]);
    const fragment = (type: number) => {
      const header = Buffer.alloc(fragmentHeaderBytes);
      header.writeUInt32LE(maskedCrc32c(type, new Uint8Array(0)), 0);
      header.writeUInt8(type, 6);
      return header;
    };
    const perBlock = Math.floor(logBlockBytes / fragmentHeaderBytes);
    const middles = Array.from({ length: perBlock - 1 }, () => fragment(fragmentType.middle));
    await harness.store.put(
      'exports/bits/all_namespaces/all_kinds/output-0',
      Buffer.concat([fragment(fragmentType.first), ...middles]),
    );
    await expect(open('firestore-export', 'exports/bits')).rejects.toMatchObject({ code: 'INTEGRITY_ERROR' });
  });

  test('by metadata that names more files than an export has is refused', async () => {
    await writeManagedExport(harness.store, 'exports/many', 'demo', [[{ path: 'a/1', fields: {} }]]);
    const names = Array.from({ length: 120_000 }, (_, index) => `output-${index}`).join('');
    const metadata = 'exports/many/all_namespaces/all_kinds/all_namespaces_all_kinds.export_metadata';
    await harness.store.put(metadata, levelDbLog([Buffer.from(names)]));
    await expect(open('firestore-export', 'exports/many')).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      message: expect.stringContaining('files'),
    });
  });

  test('a document with as many values as are allowed is read within the memory of its thread', async () => {
    const text = `{"users":{"ada":{"n":[${'true,'.repeat(299_000)}true]}}}`;
    await harness.store.put('values.json', Buffer.from(text));
    expect(Object.keys(await fieldsOf(await open('json', 'values.json')))).toEqual(['users/ada']);
  });
});

test.each(['rubbish', '', '\0'.repeat(64)])('a file that only has the name of an export is none: %j', async (text) => {
  await harness.store.put('exports/fake/fake.overall_export_metadata', new TextEncoder().encode(text));
  await expect(open('firestore-export', 'exports/fake')).rejects.toMatchObject({ code: 'INTEGRITY_ERROR' });
});

test('a number of absurd length is refused', async () => {
  const text = `{"users":{"ada":{"n":${'9'.repeat(100_000)}}}}`;
  await harness.store.put('absurd.json', new TextEncoder().encode(text));
  await expect(open('json', 'absurd.json')).rejects.toMatchObject({
    code: 'VALIDATION_ERROR',
    message: expect.stringContaining('digits'),
  });
});

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
  };

  test.each(Object.entries(shapes))('of the %s shape gives its documents and subcollections', async (name, text) => {
    await harness.store.put(`v1/${name.replace(' ', '-')}.json`, Buffer.from(text));
    expect(await fieldsOf(await open('json', `v1/${name.replace(' ', '-')}.json`))).toEqual({
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
    expect(JSON.parse((await fieldsOf(await open('json', 'v1/typed.json')))['users/ada']!)).toEqual({
      name: { stringValue: 'Ada' },
      big: { mapValue: { fields: { marker: { integerValue: '1' } } } },
      at: { timestampValue: '2023-11-14T22:13:20.000005Z' },
      where: { geoPointValue: { latitude: 1.5, longitude: -2 } },
      ref: { referenceValue: `${testDatabase}/documents/users/bob` },
    });
  });

  test.each(['{"users":{"ada":{"n":1}', '[1,2]', '{"users":{"ada":5}}', '{"collections":[{"documents":[]}]}'])(
    'that is broken is refused: %s',
    async (text) => {
      await harness.store.put('v1/broken.json', Buffer.from(text));
      await expect(open('json', 'v1/broken.json')).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
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
    await expect(open('json', 'v1/refused.json')).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      message: expect.stringContaining(reason),
    });
  });

  test('keeps numeric ids, and doubles that were written without an exponent', async () => {
    await harness.store.put('v1/large.json', Buffer.from('{"users":{"__id7__":{"v":100000000000000000000}}}'));
    expect(await fieldsOf(await open('json', 'v1/large.json'))).toEqual({
      'users/__id7__': '{"v":{"doubleValue":100000000000000000000}}',
    });
  });
});
