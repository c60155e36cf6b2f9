import { afterAll, expect, test } from 'vitest';
import { database, documentBytes, name, root } from '../firestore/testing/fixtures.ts';
import { startWithClient } from '../firestore/testing/start-with-client.ts';
import { splitDocument } from '../firestore/values/fields.ts';
import { fillFast } from './fill-fast.ts';
import { loadSample, sampleDocuments } from './generate.ts';

const { sandbox, client, stop } = await startWithClient();
afterAll(stop);

test('the same seed gives the same database, another seed another one', () => {
  const take = (seed: number): string[] =>
    [...sampleDocuments(root, { documents: 500, seed })].map(
      ({ path, fields }) => path + Buffer.from(fields).toString('hex'),
    );
  expect(take(1)).toEqual(take(1));
  expect(take(1)).not.toEqual(take(2));
  expect(new Set([...sampleDocuments(root, { documents: 5000 })].map(({ path }) => path)).size).toBe(5000);
});

test('every sample document passes the server’s own strict checks', async () => {
  const documents = [...sampleDocuments(root, { documents: 1500 })];
  for (let start = 0; start < documents.length; start += 500) {
    const writes = documents
      .slice(start, start + 500)
      .map(({ path, fields }) => ({ update: documentBytes(path, fields) }));
    const { status } = await client.unary('BatchWrite', { database: database, writes });
    expect(status.filter((each: { code: number }) => each.code !== 0)).toEqual([]);
  }
});

test('loading straight into the store and writing through the API give the same documents', async () => {
  // A database name as long as the default one, so that references differ only in that name.
  const name = 'loaded-db';
  loadSample(sandbox.control.database({ project: 'demo', database: name }), { documents: 1500 });
  const read = async (database: string): Promise<string[]> => {
    const root = `projects/demo/databases/${database}/documents`;
    const structuredQuery = { from: [{ allDescendants: true }] };
    const responses = await client.stream('RunQuery', { parent: root, structuredQuery });
    return responses.map(({ document }) => {
      const { name: documentName, fields } = splitDocument(document);
      return (documentName + Buffer.from(fields).toString('latin1')).replaceAll(
        `demo/databases/${database}`,
        'demo/databases/_',
      );
    });
  };
  const [written, loaded] = [await read('(default)'), await read(name)];
  expect(loaded.length).toBe(1500);
  expect(loaded.filter((line, index) => line !== written[index])).toEqual([]);
});

test('the fast fill gives documents of about 600 bytes that are all different', async () => {
  fillFast(sandbox.control.database(name), { collection: 'fast', documents: 3000 });
  const responses = await client.stream('RunQuery', {
    parent: root,
    structuredQuery: { from: [{ collectionId: 'fast' }] },
  });
  const sizes = responses.map(({ document }) => document.length);
  const mean = sizes.reduce((sum, size) => sum + size, 0) / sizes.length;
  expect(mean).toBeGreaterThan(550);
  expect(mean).toBeLessThan(680);
  expect(new Set(responses.map(({ document }) => Buffer.from(document).toString('hex'))).size).toBe(3000);
});
