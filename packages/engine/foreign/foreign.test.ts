import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { arbitraryFields, testDatabase } from '../fixtures/arbitrary-documents.ts';
import { fieldsOf, harness, openForeign, withoutNestedArrays } from '../fixtures/foreign-files.ts';
import {
  encodeEntity,
  levelDbLog,
  overallMetadata,
  partMetadata,
  writeManagedExport,
} from '../fixtures/managed-export-writer.ts';
import {
  decodeDocument,
  encodeDocument,
  type JsonFields,
  type JsonValue,
  stringifyLossless,
} from '../format/document-json.ts';
import { ProtobufWriter } from '../format/protobuf.ts';
import { writeViewAsBackup } from '../pipeline/backup/write-view.ts';
import { crc32c, maskedCrc32c } from '../stores/crc32c.ts';
import { fragmentHeaderBytes, fragmentType, logBlockBytes } from './leveldb-log.ts';

test('CRC-32C is the one of the standard', () => {
  expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283);
});

describe('a managed export', () => {
  test('reads back every value of every document, in the order of paths', { tags: 'long' }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(arbitraryFields, { minLength: 1, maxLength: 6 }), async (given) => {
        const paths = ['b/2', 'a/1', 'a/1/x/__id7__', 'a/__id-3__', 'c/é', 'a/0'];
        const documents = given.map((fields, index) => ({ path: paths[index]!, fields: withoutNestedArrays(fields) }));
        await writeManagedExport(harness.store, 'exports/one', 'demo', [documents.slice(0, 3), documents.slice(3)]);
        const found = await fieldsOf(await openForeign('firestore-export', 'exports/one'));
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
    const view = await openForeign('firestore-export', 'exports/big/big.overall_export_metadata');
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
      await expect(openForeign('firestore-export', 'exports/x'), String(length)).rejects.toMatchObject({
        code: 'INTEGRITY_ERROR',
      });
    }
    const changed = bytes.slice();
    changed[50_000] = changed[50_000]! ^ 1;
    await harness.store.put(output, changed);
    await expect(openForeign('firestore-export', 'exports/x')).rejects.toMatchObject({ code: 'INTEGRITY_ERROR' });
    await harness.store.delete([output]);
    await expect(openForeign('firestore-export', 'exports/x')).rejects.toMatchObject({ code: 'INTEGRITY_ERROR' });
    await harness.store.delete(['exports/x/x.overall_export_metadata']);
    await expect(openForeign('firestore-export', 'exports/x')).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
  });
});

describe('an export of which something would be lost', () => {
  const folder = 'exports/lossy';
  const output = (number: number) => `${folder}/all_namespaces/all_kinds/output-${number}`;
  const write = async (...outputs: Parameters<typeof writeManagedExport>[3][number][]) => {
    await harness.store.delete([0, 1, 2].map(output));
    await writeManagedExport(harness.store, folder, 'demo', outputs);
  };
  const one = (path: string, fields: JsonFields = {}) => ({ path, fields });
  const replace = (number: number, ...entities: Uint8Array[]) =>
    harness.store.put(output(number), levelDbLog(entities));
  const refusal = async () => {
    const error = await openForeign('firestore-export', folder).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    return (error as Error | undefined)?.message ?? 'it was taken';
  };

  test('is refused with the reason', async () => {
    await write([one('a/1')], [one('a/1', { n: { integerValue: '2' } })]);
    expect(await refusal()).toContain('the document a/1 stands in it twice');
    await write([one('a/1')]);
    const twice = encodeEntity('demo', 'a/1', { n: { integerValue: '1' } });
    await replace(0, Buffer.concat([twice, twice]));
    expect(await refusal()).toBe('a/1 is refused: the field n stands in it twice.');
    const text = Buffer.from(encodeEntity('demo', 'a/1', { n: { stringValue: 'café' } }));
    text.writeUInt16BE(0xfffe, text.indexOf(Buffer.from('é')));
    await replace(0, text);
    expect(await refusal()).toBe('a/1 is refused: the field n has a text that is not UTF-8.');
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

  test('is not refused for its references: those into another database stay so, those into its own lead into the imported one', async () => {
    await write([one('a/1')]);
    const into = (databaseId: string) => `projects/demo/databases/${databaseId}/documents/users/x`;
    const read = async (exported?: string) => {
      const fields = Object.fromEntries(
        ['shop', 'archive', '(default)'].map((id) => [id, { referenceValue: into(id) }]),
      );
      await replace(0, encodeEntity('demo', 'a/1', fields, exported));
      const found = JSON.parse((await fieldsOf(await openForeign('firestore-export', folder)))['a/1']!);
      return ['shop', 'archive', '(default)'].map((id) => found[id].referenceValue);
    };
    const imported = `${testDatabase}/documents/users/x`;
    expect(await read('shop')).toEqual([imported, into('archive'), imported]);
    expect(await read()).toEqual([into('shop'), into('archive'), imported]);
  });

  test('because a value of it cannot be in a Firestore names the document and the field', async () => {
    await write([one('a/1')]);
    const inside = (value: JsonValue): JsonFields => ({ m: { mapValue: { fields: { bad: value } } } });
    for (const [latitude, longitude] of [
      [90.5, 0],
      [0, -181],
      [Number.NaN, 0],
    ] as const) {
      await replace(0, encodeEntity('demo', 'a/1', inside({ geoPointValue: { latitude, longitude } })));
      expect(await refusal()).toMatch(/^a\/1 is refused: the field m\.bad /);
    }
    const reference = { referenceValue: `${testDatabase}/documents/users/__x__` };
    await replace(0, encodeEntity('demo', 'a/1', inside(reference)));
    expect(await refusal()).toMatch(/^a\/1 is refused: the field m\.bad /);
    const key = encodeEntity('demo', 'a/1', {});
    for (const micros of [2n ** 63n - 1n, -(2n ** 63n), 253_402_300_800_000_000n, -62_135_596_800_000_001n]) {
      const property = new ProtobufWriter().message(14, (bad) =>
        bad
          .varint(1, 7)
          .string(3, 'bad')
          .varint(4, 0)
          .message(5, (value) => value.varint(1, micros)),
      );
      await replace(0, Buffer.concat([key, property.finish()]));
      expect(await refusal(), String(micros)).toMatch(/^a\/1 is refused: the field bad /);
    }
    await replace(0, Buffer.concat([key, Buffer.from([0x72, 0x02, 0x1a, 0x7f])]));
    expect(await refusal()).toMatch(/^a\/1 is refused: /);
    await replace(0, Buffer.from([0x72, 0x02, 0x1a, 0x7f]));
    expect(await refusal()).toContain(output(0));
  });

  const overall = `${folder}/lossy.overall_export_metadata`;
  const metadata = `${folder}/all_namespaces/all_kinds/all_namespaces_all_kinds.export_metadata`;

  test('because a file of it is wiped or missing is refused, and one that is empty is told', async () => {
    await write([one('a/1')], [one('a/2')], [one('a/3')]);
    await harness.store.put(output(1), new Uint8Array(1000));
    expect(await refusal()).toContain('damaged or cut short');
    await harness.store.delete([output(1)]);
    expect(await refusal()).toBe('The export misses output-1.');
    await write([one('a/1')], [], [one('a/3')]);
    const told: string[] = [];
    const view = await openForeign('firestore-export', folder, (text) => told.push(text));
    expect([Object.keys(await fieldsOf(view)), told]).toEqual([
      ['a/1', 'a/3'],
      [`The export file ${output(1)} is empty.`],
    ]);
    await write([], []);
    expect(await refusal()).toContain('there is no document in it');
  });

  test('because it ends between two documents is refused by what it says of itself', async () => {
    const documents = [one('a/1'), one('a/2'), one('a/3')];
    await write(documents);
    const first = encodeEntity('demo', 'a/1', {});
    await replace(0, first);
    const reason = `The export at ${folder} holds 1 documents and says that it has 3: its files are cut short.`;
    expect(await refusal()).toBe(reason);
    // What follows the last record of a block is zeros: a wiped end looks like one.
    await harness.store.put(output(0), Buffer.concat([levelDbLog([first]), Buffer.alloc(500)]));
    expect(await refusal()).toBe(reason);
    await write(documents);
    await harness.store.put(output(1), levelDbLog([encodeEntity('demo', 'a/4', {})]));
    expect(await refusal()).toContain(`does not name its file ${output(1)}`);
  });

  test('because one of its parts was not copied is refused; parts may be named by separators of Windows', async () => {
    await write([one('a/1')]);
    const own = { path: 'all_namespaces\\all_kinds\\all_namespaces_all_kinds.export_metadata', documents: 1 };
    await harness.store.put(overall, overallMetadata([own]));
    expect(await refusal()).toBe('it was taken');
    const other = { path: 'all_namespaces/kind_b/all_namespaces_kind_b.export_metadata', documents: 1 };
    await harness.store.put(overall, overallMetadata([own, other]));
    expect(await refusal()).toBe('The export misses all_namespaces_kind_b.export_metadata.');
    await harness.store.put(`${folder}/${other.path}`, partMetadata(['output-0']));
    expect(await refusal()).toBe('The export misses output-0.');
    const copied = `${folder}/all_namespaces/kind_b/output-0`;
    await harness.store.put(copied, levelDbLog([encodeEntity('demo', 'b/1', {})]));
    expect(await refusal()).toBe('it was taken');
    await harness.store.delete([copied, `${folder}/${other.path}`]);
  });

  test('if it says nothing of itself is told; of several exports one has to be named', async () => {
    await write([one('a/1')], [one('a/2')]);
    await harness.store.put(overall, levelDbLog([Buffer.from('overall')]));
    await harness.store.put(metadata, levelDbLog([Buffer.from('output-0'), Buffer.from('output-1')]));
    const told: string[] = [];
    await openForeign('firestore-export', folder, (text) => told.push(text));
    expect(told).toEqual([`The export at ${folder} does not say how many documents it holds.`]);
    await harness.store.delete([output(0)]);
    await harness.store.put(metadata, levelDbLog([Buffer.from('nothing is named')]));
    expect(await refusal()).toBe('The export misses output-0.');
    await harness.store.put(`${folder}/more/more.overall_export_metadata`, overallMetadata([]));
    expect(await refusal()).toContain('There are several exports');
    await harness.store.delete([`${folder}/more/more.overall_export_metadata`]);
  });

  test('is not one with embeddings: they stay what they are, and only they bear a reserved name', async () => {
    const vector = (values: JsonValue[], type = '__vector__'): JsonFields => ({
      v: { mapValue: { fields: { __type__: { stringValue: type }, value: { arrayValue: { values } } } } },
    });
    const fields = vector([{ doubleValue: 1.5 }, { doubleValue: -2 }]);
    await write([one('a/1', fields)]);
    expect(await fieldsOf(await openForeign('firestore-export', folder))).toEqual({ 'a/1': JSON.stringify(fields) });
    for (const [bad, reason] of [
      [vector([{ doubleValue: 1 }], '__other__'), 'has a name that is reserved by Firestore'],
      [vector([{ stringValue: 'x' }]), 'is a vector of what are no numbers'],
    ] as const) {
      await write([one('a/1', bad)]);
      expect(await refusal()).toBe(`a/1 is refused: the field v ${reason}.`);
    }
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
    await expect(openForeign('firestore-export', 'exports/bits')).rejects.toMatchObject({ code: 'INTEGRITY_ERROR' });
  });

  test('by metadata that names more files than an export has is refused', async () => {
    await writeManagedExport(harness.store, 'exports/many', 'demo', [[{ path: 'a/1', fields: {} }]]);
    const names = Array.from({ length: 120_000 }, (_, index) => `output-${index}`).join('');
    const metadata = 'exports/many/all_namespaces/all_kinds/all_namespaces_all_kinds.export_metadata';
    await harness.store.put(metadata, levelDbLog([Buffer.from(names)]));
    await expect(openForeign('firestore-export', 'exports/many')).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      message: expect.stringContaining('files'),
    });
  });

  test('a document with as many values as are allowed is read within the memory of its thread', {
    tags: 'long',
  }, async () => {
    const text = `{"users":{"ada":{"n":[${'true,'.repeat(199_000)}true]}}}`;
    await harness.store.put('values.json', Buffer.from(text));
    expect(Object.keys(await fieldsOf(await openForeign('json', 'values.json')))).toEqual(['users/ada']);
  });
});

test.each(['rubbish', '', '\0'.repeat(64)])('a file that only has the name of an export is none: %j', async (text) => {
  await harness.store.put('exports/fake/fake.overall_export_metadata', new TextEncoder().encode(text));
  await expect(openForeign('firestore-export', 'exports/fake')).rejects.toMatchObject({ code: 'INTEGRITY_ERROR' });
});

test('a number of absurd length is refused', async () => {
  const text = `{"users":{"ada":{"n":${'9'.repeat(100_000)}}}}`;
  await harness.store.put('absurd.json', new TextEncoder().encode(text));
  await expect(openForeign('json', 'absurd.json')).rejects.toMatchObject({
    code: 'VALIDATION_ERROR',
    message: expect.stringContaining('digits'),
  });
});
