import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type FirestoreSandbox, startFirestoreSandbox } from './server.ts';
import { database, fields, ManualClock, name, query, root, set, setWrite } from './testing/fixtures.ts';
import { RawClient } from './testing/raw-client.ts';
import { secondMicros, timestampFrom } from './values/timestamp.ts';

let sandbox: FirestoreSandbox;
let client: RawClient;
const clock = new ManualClock();

beforeAll(async () => {
  sandbox = await startFirestoreSandbox({ clock });
  client = new RawClient(sandbox.port);
});

beforeEach(() => sandbox.control.clear(name));

afterAll(async () => {
  client.close();
  await sandbox.stop();
});

async function begin(options: object = { readWrite: {} }): Promise<Uint8Array> {
  return (await client.unary('BeginTransaction', { database: database, options })).transaction;
}

async function read(path: string, transaction: Uint8Array): Promise<boolean> {
  const documents = [`${root}/${path}`];
  const [response] = await client.stream('BatchGetDocuments', { database: database, documents, transaction });
  return response!.found.length > 0;
}

function commit(transaction: Uint8Array, ...writes: object[]): Promise<unknown> {
  return client.unary('Commit', { database: database, transaction, writes });
}

test('of two transactions that read and write one document, the second to commit is aborted', async () => {
  await set(client, 'a/1', fields({ n: 1 }));
  const [one, two] = [await begin(), await begin()];
  await read('a/1', one);
  await read('a/1', two);
  await commit(one, setWrite('a/1', fields({ n: 2 })));
  await expect(commit(two, setWrite('a/1', fields({ n: 3 })))).rejects.toThrow(/ABORTED.*contention/);
});

test('a document that a transaction saw missing must still be missing', async () => {
  const transaction = await begin();
  expect(await read('a/new', transaction)).toBe(false);
  await set(client, 'a/new', fields({ n: 1 }));
  await expect(commit(transaction, setWrite('a/other', fields({ n: 1 })))).rejects.toThrow('ABORTED');
});

test('a query in a transaction is protected against documents that enter its answer', async () => {
  await set(client, 'a/1', fields({ n: 1 }));
  const transaction = await begin();
  expect(await query(client, { from: [{ collectionId: 'a' }] }, { transaction })).toEqual(['a/1']);
  await set(client, 'a/2', fields({ n: 1 }));
  await expect(commit(transaction, setWrite('b/1', fields({ n: 1 })))).rejects.toThrow('ABORTED');
});

test('writes elsewhere do not disturb a transaction', async () => {
  await set(client, 'a/1', fields({ n: 1 }));
  const transaction = await begin();
  await read('a/1', transaction);
  await set(client, 'b/1', fields({ n: 1 }));
  await commit(transaction, setWrite('a/1', fields({ n: 2 })));
  expect(await query(client, { from: [{ collectionId: 'b' }] })).toEqual(['b/1']);
});

test('a transaction keeps reading at the time it began', async () => {
  const transaction = await begin({ readOnly: {} });
  await set(client, 'a/1', fields({ n: 1 }));
  expect(await read('a/1', transaction)).toBe(false);
  await expect(commit(transaction, setWrite('a/2', fields({ n: 1 })))).rejects.toThrow('INVALID_ARGUMENT');
});

test('a read-only transaction reads at a chosen time', async () => {
  const time = await set(client, 'a/1', fields({ n: 1 }));
  await client.unary('Commit', { database: database, writes: [{ delete: `${root}/a/1` }] });
  const transaction = await begin({ readOnly: { readTime: timestampFrom(time) } });
  expect(await read('a/1', transaction)).toBe(true);
});

test('a transaction that was rolled back, committed, or idle for a minute is gone', async () => {
  const rolledBack = await begin();
  await client.stream('Rollback', { database: database, transaction: rolledBack });
  await expect(commit(rolledBack)).rejects.toThrow(/INVALID_ARGUMENT.*no longer valid/);
  const committed = await begin();
  await commit(committed);
  await expect(commit(committed)).rejects.toThrow('INVALID_ARGUMENT');
  const idle = await begin();
  clock.micros += 61 * secondMicros;
  await expect(read('a/1', idle)).rejects.toThrow('INVALID_ARGUMENT');
});

test('an aborted transaction can be begun again with its id', async () => {
  const first = await begin();
  const again = await begin({ readWrite: { retryTransaction: first } });
  await commit(again, setWrite('a/1', fields({ n: 1 })));
});

test('a read can begin the transaction it belongs to', async () => {
  const structuredQuery = { from: [{ collectionId: 'a' }] };
  const responses = await client.stream('RunQuery', {
    parent: root,
    structuredQuery,
    newTransaction: { readWrite: {} },
  });
  expect(responses[0]!.transaction.length).toBeGreaterThan(0);
  await commit(responses[0]!.transaction, setWrite('b/1', fields({ n: 1 })));
});
