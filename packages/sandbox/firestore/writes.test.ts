import { afterAll, describe, expect, test } from 'vitest';
import { documentFields, value } from '../sample-data/value-builder.ts';
import { database, documentBytes, fields, pathOf, root, set, setWrite, timeOf } from './testing/fixtures.ts';
import { RawClient, type Response } from './testing/raw-client.ts';
import { startWithClient } from './testing/start-with-client.ts';
import { type FieldPath, formatFieldPath } from './values/field-path.ts';
import { findField, splitDocument } from './values/fields.ts';
import { timestampFrom } from './values/timestamp.ts';

const { sandbox, client, stop } = await startWithClient();
afterAll(stop);

async function fieldOf(path: string, field: FieldPath): Promise<Buffer | null> {
  const [response] = await client.stream('BatchGetDocuments', { database: database, documents: [`${root}/${path}`] });
  const found = findField(response!.found, field);
  return found === null ? null : Buffer.from(found.bytes.subarray(found.start, found.end));
}

async function commit(...writes: object[]): Promise<Response> {
  return client.unary('Commit', { database: database, writes });
}

describe('transforms', () => {
  const int64Max = 2n ** 63n - 1n;
  const int64Min = -(2n ** 63n);

  test.each<[string, Uint8Array | null, object, Uint8Array]>([
    ['an increment of nothing is the operand', null, { increment: value.integer(5) }, value.integer(5)],
    [
      'integers add up exactly',
      value.integer(9007199254740993n),
      { increment: value.integer(2) },
      value.integer(9007199254740995n),
    ],
    ['integers saturate above', value.integer(int64Max), { increment: value.integer(1) }, value.integer(int64Max)],
    ['integers saturate below', value.integer(int64Min), { increment: value.integer(-1) }, value.integer(int64Min)],
    ['an integer and a double make a double', value.integer(1), { increment: value.double(0.5) }, value.double(1.5)],
    ['an increment replaces what is no number', value.string('x'), { increment: value.integer(1) }, value.integer(1)],
    ['maximum keeps the larger', value.integer(3), { maximum: value.double(3.5) }, value.double(3.5)],
    ['maximum of equals keeps what is stored', value.integer(3), { maximum: value.double(3) }, value.integer(3)],
    ['minimum keeps the smaller', value.double(-0.5), { minimum: value.integer(0) }, value.double(-0.5)],
    ['minimum with NaN is NaN', value.integer(3), { minimum: value.double(Number.NaN) }, value.double(Number.NaN)],
  ])('%s', async (_promise, before, operation, after) => {
    await set(client, 't/d', before === null ? Buffer.alloc(0) : documentFields(['v', before]));
    await commit({
      update: documentBytes('t/d', Buffer.alloc(0)),
      updateMask: {},
      updateTransforms: [{ fieldPath: 'v', ...operation }],
    });
    expect(await fieldOf('t/d', ['v'])).toEqual(Buffer.from(after));
  });

  test('union appends what is not there yet by value, removal takes all equals', async () => {
    const elements = (...bytes: Uint8Array[]): Uint8Array => value.array(bytes).subarray(2);
    await set(client, 't/array', documentFields(['v', value.array([value.integer(1), value.string('a')])]));
    const union = {
      fieldPath: 'v',
      appendMissingElements: elements(value.double(1), value.string('b'), value.string('b')),
    };
    const { writeResults } = await commit({ transform: { document: `${root}/t/array`, fieldTransforms: [union] } });
    expect(await fieldOf('t/array', ['v'])).toEqual(
      value.array([value.integer(1), value.string('a'), value.string('b')]),
    );
    expect(writeResults[0].transformResults.map((each: Uint8Array) => [...each])).toEqual([[...value.null]]);
    const removal = { fieldPath: 'v', removeAllFromArray: elements(value.integer(1), value.string('b')) };
    await commit({ transform: { document: `${root}/t/array`, fieldTransforms: [removal] } });
    expect(await fieldOf('t/array', ['v'])).toEqual(value.array([value.string('a')]));
  });

  test('the server’s time is that of the commit', async () => {
    const transforms = [{ fieldPath: 'at', setToServerValue: 1 }];
    const response = await commit({ update: documentBytes('t/time', Buffer.alloc(0)), updateTransforms: transforms });
    expect(await fieldOf('t/time', ['at'])).toEqual(value.timestamp(timeOf(response.commitTime)));
  });
});

describe('masks', () => {
  test('quoted paths reach odd names, absent fields are deleted, and missing maps are made', async () => {
    await set(client, 'm/d', documentFields(['a.b', value.map(['`', value.integer(1)])], ['gone', value.integer(1)]));
    const paths = [['a.b', '`'], ['gone'], ['new', 'deep']].map(formatFieldPath);
    const content = documentFields(
      ['a.b', value.map(['`', value.integer(2)])],
      ['new', value.map(['deep', value.null])],
    );
    await commit({ update: documentBytes('m/d', content), updateMask: { fieldPaths: paths } });
    expect(await fieldOf('m/d', ['a.b', '`'])).toEqual(value.integer(2));
    expect(await fieldOf('m/d', ['gone'])).toBeNull();
    expect(await fieldOf('m/d', ['new', 'deep'])).toEqual(Buffer.from(value.null));
  });

  test.each([[['a', 'a.b']], [['a', 'a']], [['__name__']], [['a..b']]])(
    'the mask %j is refused',
    async (fieldPaths) => {
      const write = { update: documentBytes('m/no', fields({ a: 1 })), updateMask: { fieldPaths } };
      await expect(commit(write)).rejects.toThrow('INVALID_ARGUMENT');
    },
  );
});

describe('preconditions', () => {
  test('must exist, must not exist, must be this version', async () => {
    const update = documentBytes('p/d', fields({ n: 1 }));
    await expect(commit({ update, currentDocument: { exists: true } })).rejects.toThrow(
      'NOT_FOUND: No document to update',
    );
    const created = timeOf((await commit({ update, currentDocument: { exists: false } })).commitTime);
    await expect(commit({ update, currentDocument: { exists: false } })).rejects.toThrow('ALREADY_EXISTS');
    const updateTime = timestampFrom(created);
    const next = documentBytes('p/d', fields({ n: 2 }));
    await commit({ update: next, currentDocument: { updateTime } });
    await expect(commit({ delete: `${root}/p/d`, currentDocument: { updateTime } })).rejects.toThrow(
      'FAILED_PRECONDITION',
    );
  });
});

test('a document keeps its create time until it is deleted and made again', async () => {
  const created = await set(client, 'life/d', fields({ n: 1 }));
  await set(client, 'life/d', fields({ n: 2 }));
  const name = `${root}/life/d`;
  expect(timeOf((await client.unary('GetDocument', { name })).createTime)).toBe(created);
  await commit({ delete: name });
  await expect(client.unary('GetDocument', { name })).rejects.toThrow('NOT_FOUND');
  const again = await set(client, 'life/d', fields({ n: 3 }));
  expect(timeOf((await client.unary('GetDocument', { name })).createTime)).toBe(again);
});

test('documents are created, updated and deleted one at a time too', async () => {
  const document = documentBytes('ignored/id', fields({ n: 1 }));
  const made = await client.unary('CreateDocument', { parent: root, collectionId: 'one', document });
  expect(made.name).toMatch(/\/one\/[A-Za-z0-9]{20}$/);
  const named = { parent: root, collectionId: 'one', documentId: 'two', document };
  await client.unary('CreateDocument', named);
  await expect(client.unary('CreateDocument', named)).rejects.toThrow('ALREADY_EXISTS');
  const update = {
    document: documentBytes('one/two', fields({ m: 1 })),
    updateMask: { fieldPaths: ['m'] },
    mask: { fieldPaths: ['m'] },
  };
  const updated = await client.unary('UpdateDocument', update);
  expect(Object.keys(updated.fields)).toEqual(['m']);
  await client.stream('DeleteDocument', { name: `${root}/one/two` });
  await expect(client.unary('GetDocument', { name: `${root}/one/two` })).rejects.toThrow('NOT_FOUND');
});

test('a listing can have its own order, page by page', async () => {
  for (const [id, n] of Object.entries({ a: 2, b: 3, c: 1 })) await set(client, `sorted/${id}`, fields({ n }));
  const request = { parent: root, collectionId: 'sorted', orderBy: 'n desc', pageSize: 2 };
  const first = await client.unary('ListDocuments', request);
  const second = await client.unary('ListDocuments', { ...request, pageToken: first.nextPageToken });
  const paths = [...first.documents, ...second.documents].map((bytes: Uint8Array) => pathOf(bytes));
  expect(paths).toEqual(['sorted/b', 'sorted/a', 'sorted/c']);
  expect(second.nextPageToken).toBe('');
});

test('a write stream commits each request in order', async () => {
  const responses: Response[] = [];
  const stream = client.converse('Write', (response) => responses.push(response));
  stream.send({ database: database });
  await expect.poll(() => responses).toHaveLength(1);
  const { streamToken } = responses[0]!;
  stream.send({ streamToken, writes: [setWrite('ws/d', fields({ n: 1 }))] });
  stream.send({ streamToken, writes: [{ delete: `${root}/ws/d` }, setWrite('ws/e', fields({ n: 1 }))] });
  await expect.poll(() => responses).toHaveLength(3);
  expect(timeOf(responses[2]!.commitTime)).toBeGreaterThan(timeOf(responses[1]!.commitTime));
  stream.end();
  await stream.done;
  expect(await fieldOf('ws/e', ['n'])).toEqual(value.integer(1));
});

test('a stream’s unread answers do not pile up in the server', { tags: 'long' }, async () => {
  const document = { update: documentBytes('heavy/d', fields({ s: 'x'.repeat(900_000) })) };
  await commit(document);
  for (let n = 0; n < 60; n++) await set(client, `heavy/d${n}`, splitDocument(document.update).fields);
  const before = process.memoryUsage().arrayBuffers;
  const stalled = Array.from({ length: 8 }, () => {
    const conversation = new RawClient(sandbox.port);
    const stream = conversation.converse('RunQuery', () => {});
    stream.pause();
    stream.send({ parent: root, structuredQuery: { from: [{ collectionId: 'heavy' }] } });
    stream.end();
    return conversation;
  });
  await new Promise((resolve) => setTimeout(resolve, 300));
  // Eight times 54 MB were requested; a megabyte or two are held for each.
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(80 * 1024 * 1024);
  for (const conversation of stalled) conversation.destroy();
});

test('a vector has no fields: one that is set inside replaces it, and one that is requested does not exist', async () => {
  const write = (content: Buffer, ...fieldPaths: string[]) =>
    commit({ update: documentBytes('vectors/d', content), updateMask: { fieldPaths } });
  await set(client, 'vectors/d', documentFields(['v', value.vector([1, 2])]));
  await write(documentFields(), 'v.value');
  expect(await fieldOf('vectors/d', ['v'])).toEqual(value.vector([1, 2]));
  expect(await fieldOf('vectors/d', ['v', 'value'])).toBeNull();
  await write(documentFields(['v', value.map(['a', value.integer(1)])]), 'v.a');
  expect(await fieldOf('vectors/d', ['v'])).toEqual(value.map(['a', value.integer(1)]));
});
