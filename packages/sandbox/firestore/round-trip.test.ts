import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { documentFields, value } from '../sample-data/value-builder.ts';
import { anyFields } from './testing/arbitraries.ts';
import { database, documentBytes, fields, root, set } from './testing/fixtures.ts';
import { startWithClient } from './testing/start-with-client.ts';
import { splitDocument } from './values/fields.ts';

const { client, stop } = await startWithClient();
afterAll(stop);

async function readFields(path: string): Promise<Buffer> {
  const [response] = await client.stream('BatchGetDocuments', { database: database, documents: [`${root}/${path}`] });
  return Buffer.from(splitDocument(response!.found).fields);
}

test('any tree of values is read back as exactly the bytes that were written', { tags: 'long' }, async () => {
  await fc.assert(
    fc.asyncProperty(anyFields, async (entries) => {
      const written = documentFields(...entries);
      await set(client, 'any/tree', written);
      expect((await readFields('any/tree')).equals(written)).toBe(true);
    }),
    { numRuns: 300 },
  );
});

test('a batch of random documents comes out of a query, a get and a listing as the same bytes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyFields, { minLength: 1, maxLength: 20 }), async (documents) => {
      const written = documents.map((entries) => documentFields(...entries));
      const writes = written.map((content, index) => ({ update: documentBytes(`batch/d${index}`, content) }));
      await client.unary('BatchWrite', { database: database, writes });
      const queried = await client.stream('RunQuery', {
        parent: root,
        structuredQuery: { from: [{ collectionId: 'batch' }], limit: { value: 100 } },
      });
      const listed = await client.unary('ListDocuments', { parent: root, collectionId: 'batch', pageSize: 100 });
      const byName = new Map(listed.documents.map((bytes: Uint8Array) => [splitDocument(bytes).name, bytes]));
      for (const [index, content] of written.entries()) {
        const name = `${root}/batch/d${index}`;
        const found = queried.find((response) => splitDocument(response.document).name === name)!;
        expect(Buffer.compare(splitDocument(found.document).fields, content)).toBe(0);
        expect(Buffer.compare(byName.get(name) as Uint8Array, found.document)).toBe(0);
      }
    }),
    { numRuns: 40 },
  );
});

test('map entries keep the order they were written in, also when they look like numbers', async () => {
  const written = documentFields(
    ['10', value.integer(1)],
    ['9', value.integer(2)],
    ['a', value.map(['2', value.null], ['1', value.null])],
  );
  await set(client, 'order/kept', written);
  expect((await readFields('order/kept')).equals(written)).toBe(true);
});

test('a masked update leaves the bytes of every other field alone', async () => {
  const before = documentFields(
    ['keep', value.map(['2', value.double(-0)], ['1', value.null])],
    ['change', value.integer(1)],
  );
  await set(client, 'mask/one', before);
  await client.unary('Commit', {
    database: database,
    writes: [{ update: documentBytes('mask/one', fields({ change: 2 })), updateMask: { fieldPaths: ['change'] } }],
  });
  const after = documentFields(
    ['keep', value.map(['2', value.double(-0)], ['1', value.null])],
    ['change', value.integer(2)],
  );
  expect((await readFields('mask/one')).equals(after)).toBe(true);
});
