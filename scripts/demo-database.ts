import { createHash } from 'node:crypto';
import { Firestore } from '@google-cloud/firestore';
import { connectFirestore, documentContent, everything, readRecords, wholeDatabase } from '@holdfast/engine';
import type { FirestoreSandbox } from '@holdfast/sandbox';

/** The shop of the demo: what it holds, what happens to it, and how it is known to be whole. */
export const database = { project: 'demo-shop', database: '(default)' };

/** Changes that are younger than every backup. */
export async function work(firestore: FirestoreSandbox): Promise<string> {
  const sdk = connectSdk(firestore);
  const batch = sdk.batch();
  for (let index = 0; index < 25; index++) batch.set(sdk.doc(`orders/today-${index}`), { total: index, paid: true });
  await batch.commit();
  await sdk.terminate();
  return '25 orders that are younger than every backup';
}

function connectSdk(firestore: FirestoreSandbox): Firestore {
  process.env.FIRESTORE_EMULATOR_HOST = firestore.address;
  process.env.METADATA_SERVER_DETECTION = 'none';
  return new Firestore({ projectId: database.project });
}

function open(firestore: FirestoreSandbox) {
  return connectFirestore({ projectId: database.project, connection: { type: 'emulator', host: firestore.address } });
}

/** All documents in order, hashed: names and the very bytes of their fields. */
export async function fingerprint(firestore: FirestoreSandbox): Promise<{ count: number; sha256: string }> {
  const { source, close } = open(firestore);
  const hash = createHash('sha256');
  let count = 0;
  const readTime = await source.snapshotTime();
  for await (const batch of source.scan(everything, { scope: wholeDatabase, readTime })) {
    for (const { path, body } of readRecords(batch, source.database)) {
      hash.update(path).update('\0').update(documentContent(body));
      count++;
    }
  }
  await close();
  return { count, sha256: hash.digest('hex') };
}

/** A bad script, as somebody's own code would run it: deletes a tenth of the documents, changes some, writes some that do not belong. */
export async function accident(firestore: FirestoreSandbox): Promise<string> {
  const { source, close } = open(firestore);
  const victims: string[] = [];
  const overwritten: string[] = [];
  let seen = 0;
  const readTime = await source.snapshotTime();
  for await (const batch of source.scan(everything, { scope: wholeDatabase, readTime, namesOnly: true })) {
    for (const { path } of readRecords(batch, source.database)) {
      if (seen % 10 === 3) victims.push(path);
      if (seen++ % 100 === 55) overwritten.push(path);
    }
  }
  await close();
  const sdk = connectSdk(firestore);
  const writer = sdk.bulkWriter({ throttling: false });
  for (const path of victims) void writer.delete(sdk.doc(path));
  for (const path of overwritten) void writer.set(sdk.doc(path), { price: 0, note: 'migrated' }, { merge: true });
  for (let index = 0; index < 20; index++)
    void writer.set(sdk.doc(`oops/${index}`), { why: 'a loop ran once too often', index });
  await writer.close();
  await sdk.terminate();
  return `${victims.length} documents deleted, ${overwritten.length} changed, 20 strays written`;
}
