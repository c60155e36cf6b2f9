import {
  type CollectionReference,
  FieldPath,
  FieldValue,
  Firestore,
  GeoPoint,
  type QuerySnapshot,
  Timestamp,
  v1,
} from '@google-cloud/firestore';
import { deleteApp, initializeApp } from 'firebase-admin/app';
import { getFirestore } from 'firebase-admin/firestore';
import { OAuth2Client } from 'google-auth-library';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type FirestoreSandbox, startFirestoreSandbox } from './server.ts';

let sandbox: FirestoreSandbox;

beforeAll(async () => {
  sandbox = await startFirestoreSandbox();
  process.env.FIRESTORE_EMULATOR_HOST = sandbox.address;
  // Otherwise the clients would look for a metadata server on the network.
});

afterAll(async () => {
  delete process.env.FIRESTORE_EMULATOR_HOST;
  await sandbox.stop();
});

describe.each(['(default)', 'named'])('@google-cloud/firestore, unchanged, on database %s', (databaseId) => {
  let firestore: Firestore;
  let root: CollectionReference;

  beforeAll(() => {
    firestore = new Firestore({ projectId: 'clients', databaseId });
    root = firestore.collection('root');
  });

  afterAll(() => firestore.terminate());

  test('writes, merges, transforms and reads back every type', async () => {
    const reference = root.doc('types');
    await reference.set({
      text: 'ü',
      list: [1, { deep: true }],
      when: Timestamp.fromMillis(1_700_000_000_123),
      link: root.doc('other'),
      bytes: Buffer.from([1, 2]),
      vector: FieldValue.vector([1, 2]),
    });
    await reference.set(
      { count: FieldValue.increment(2), tags: FieldValue.arrayUnion('a', 'b'), 'dotted.name': 1 },
      { merge: true },
    );
    await reference.update(new FieldPath('dotted.name'), 2, 'list', FieldValue.delete());
    const snapshot = await reference.get();
    expect(snapshot.get('count')).toBe(2);
    expect(snapshot.get('tags')).toEqual(['a', 'b']);
    expect(snapshot.get(new FieldPath('dotted.name'))).toBe(2);
    expect(snapshot.get('list')).toBeUndefined();
    expect(snapshot.get('link').path).toBe('root/other');
    await reference.delete();
    expect((await reference.get()).exists).toBe(false);
  });

  test('queries, counts and streams', async () => {
    const collection = root.doc('q').collection('items');
    const batch = firestore.batch();
    for (let n = 0; n < 20; n++) batch.set(collection.doc(`d${n}`), { n, even: n % 2 === 0 });
    await batch.commit();
    const found = await collection.where('even', '==', true).where('n', '>', 10).orderBy('n', 'desc').limit(3).get();
    expect(found.docs.map((document) => document.get('n'))).toEqual([18, 16, 14]);
    expect((await firestore.collectionGroup('items').count().get()).data().count).toBe(20);
    expect((await collection.limitToLast(2).orderBy('n').get()).docs.map((each) => each.id)).toEqual(['d18', 'd19']);
    const streamed: string[] = [];
    for await (const each of collection.stream() as AsyncIterable<{ id: string }>) streamed.push(each.id);
    expect(streamed).toHaveLength(20);
  });

  test('listens', async () => {
    const collection = root.doc('l').collection('items');
    const sizes: number[] = [];
    const unsubscribe = collection.onSnapshot((snapshot: QuerySnapshot) => void sizes.push(snapshot.size));
    await expect.poll(() => sizes).toEqual([0]);
    await collection.doc('one').set({ n: 1 });
    await expect.poll(() => sizes).toEqual([0, 1]);
    unsubscribe();
  });

  test('runs transactions to the end although they collide', async () => {
    const counter = root.doc('counter');
    await counter.set({ n: 0 });
    const increment = (): Promise<void> =>
      firestore.runTransaction(async (transaction) => {
        const { n } = (await transaction.get(counter)).data() as { n: number };
        transaction.update(counter, { n: n + 1 });
      });
    await Promise.all([increment(), increment(), increment()]);
    expect((await counter.get()).get('n')).toBe(3);
  });

  test('bulk-writes and deletes recursively', async () => {
    const writer = firestore.bulkWriter();
    const tree = root.doc('tree');
    for (let n = 0; n < 600; n++) void writer.set(tree.collection('a').doc(`d${n}`).collection('b').doc('x'), { n });
    await writer.close();
    expect((await tree.collection('a').listDocuments()).length).toBe(600);
    await firestore.recursiveDelete(tree);
    expect(await tree.listCollections()).toEqual([]);
  });
});

test('@google-cloud/firestore reads over REST what it wrote over gRPC', async () => {
  const written = new Firestore({ projectId: 'rest' });
  const all = written.collection('all');
  const values = {
    text: 'ü"\\\n😀',
    whole: 7,
    broken: 1.5,
    odd: Number.NaN,
    zero: -0,
    nothing: null,
    list: [1, { deep: [] }],
    when: Timestamp.fromMillis(1_700_000_000_123),
    link: all.doc('other'),
    bytes: Buffer.from([1, 2]),
    place: new GeoPoint(1.5, -2),
    vector: FieldValue.vector([1, 2]),
    1: 'a name like a number',
  };
  await all.doc('"\\😀').set(values);
  await all.doc('other').set({ whole: 3 });
  const authClient = new OAuth2Client();
  authClient.setCredentials({ access_token: 'owner', expiry_date: Date.now() + 3_600_000 });
  const rest = new Firestore({ projectId: 'rest', preferRest: true, authClient });
  const ask = (firestore: Firestore) => firestore.collection('all').where('whole', '>', 5).limit(9).get();
  const [overRest, overGrpc] = [await ask(rest), await ask(written)];
  const plain = (found: QuerySnapshot) =>
    found.docs.map((each) => [
      each.ref.path,
      each.createTime,
      each.updateTime,
      { ...each.data(), link: each.get('link').path },
    ]);
  expect(plain(overRest)).toEqual(plain(overGrpc));
  expect(overRest.docs[0]!.get('odd')).toBeNaN();
  const names = await rest.collection('all').select().get();
  expect(names.docs.map((each) => [each.id, each.data()])).toEqual([
    ['"\\😀', {}],
    ['other', {}],
  ]);
  await expect(rest.collection('all').where('whole', 'in', []).get()).rejects.toThrow(/array|empty/i);
  await Promise.all([rest.terminate(), written.terminate()]);
});

test('firebase-admin, unchanged, reads and writes through its own API', async () => {
  const app = initializeApp({ projectId: 'admin-project' }, 'sandbox-test');
  const firestore = getFirestore(app);
  await firestore.doc('users/ada').set({ born: 1815 });
  await firestore.doc('users/ada/notes/1').set({ text: 'engine' });
  expect((await firestore.doc('users/ada').get()).get('born')).toBe(1815);
  expect((await firestore.collection('users').where('born', '<', 1900).get()).size).toBe(1);
  expect((await firestore.doc('users/ada').listCollections()).map((each) => each.id)).toEqual(['notes']);
  expect(
    (await firestore.getAll(firestore.doc('users/ada'), firestore.doc('users/none'))).map((each) => each.exists),
  ).toEqual([true, false]);
  await firestore.terminate();
  await deleteApp(app);
});

test('the low-level clients of @google-cloud/firestore reach FirestoreAdmin', async () => {
  const { credentials } = await import('@grpc/grpc-js');
  const admin = new v1.FirestoreAdminClient({
    servicePath: sandbox.host,
    port: sandbox.port,
    sslCreds: credentials.createInsecure(),
    projectId: 'clients',
  });
  const [database] = await admin.getDatabase({ name: 'projects/clients/databases/named' });
  expect(database.name).toBe('projects/clients/databases/named');
  expect(Number(database.earliestVersionTime!.seconds)).toBeGreaterThan(0);
  await admin.close();
});
