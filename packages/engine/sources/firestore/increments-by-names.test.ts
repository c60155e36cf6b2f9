import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BackupHarness, contentsOf } from '../../fixtures/backup-harness.ts';
import { runBackup } from '../../pipeline/backup/run-backup.ts';
import {
  type ForeignFirestore,
  isForeignFirestoreInstalled,
  startForeignFirestore,
} from '../../testing/foreign-firestore.ts';
import type { ConnectedFirestore } from './connect.ts';
import { type FirestoreHarness, fields, scanAll, startFirestoreHarness, write } from './testing/firestore-harness.ts';
import { respondPacked, startRestGateway } from './testing/rest-gateway.ts';

let harness: FirestoreHarness;
beforeAll(async () => {
  harness = await startFirestoreHarness();
});
afterAll(() => harness.stop());

const connectTo = (host: string, projectId: string) =>
  harness.connect({ projectId, connection: { type: 'emulator', host } });

/** Backs up, then changes, creates and deletes, backs up what changed, and holds that against the database. */
async function expectRightIncrement(connected: ConnectedFirestore): Promise<void> {
  const { source } = connected;
  const tools = new BackupHarness();
  const path = (index: number) => `names/${index}-"\\ü😀`;
  const all = Array.from({ length: 400 }, (_, index) => ({ path: path(index), fields: fields(index) }));
  await write(connected, all);
  await runBackup({ ...tools, source, backupId: 'full', targetRanges: 2 });
  await write(connected, [
    { path: path(7), fields: fields(1_000) },
    { path: 'names/new', fields: fields(1) },
    { path: path(300) },
    { path: path(8) },
  ]);
  const parentChain = await tools.chain('full');
  const { body } = await runBackup({ ...tools, source, backupId: 'more', parentChain, targetRanges: 2 });
  expect(body.counts).toMatchObject({ documents: 399, puts: 2, deletes: 2 });
  const now = new Map((await scanAll(connected)).map((document) => [document.path, document.body.toString('hex')]));
  expect(await contentsOf(await tools.view('more'))).toEqual(now);
}

test('an increment by names over REST holds what changed and what went', async () => {
  const connected = connectTo(harness.sandbox.address, 'own');
  await expectRightIncrement(connected);
  expect(connected.source.client.rest.isGivenUp).toBe(false);
});

test('an increment is right though whole answers over REST leave documents out', async () => {
  const gateway = await startRestGateway(harness.sandbox.address, async ({ stream, answer }) => {
    const elements: unknown[] = JSON.parse(await answer());
    respondPacked(stream, JSON.stringify(elements.slice(0, elements.length / 2)));
  });
  await expectRightIncrement(connectTo(gateway.address, 'short'));
});

describe.skipIf(!isForeignFirestoreInstalled)('of a Firestore of other hands', () => {
  let foreign: ForeignFirestore;
  beforeAll(async () => {
    foreign = await startForeignFirestore();
  });
  afterAll(() => foreign.stop());

  test('that does not compress over REST, an increment comes over gRPC and is right', async () => {
    const connected = connectTo(foreign.address, 'plain');
    await expectRightIncrement(connected);
    expect(connected.source.client.rest.isGivenUp).toBe(true);
  });

  test('names as it writes them over REST, compressed on their way, are the bytes of its gRPC and make a right increment', async () => {
    const gateway = await startRestGateway(foreign.address, async ({ stream, answer }) =>
      respondPacked(stream, await answer()),
    );
    const connected = connectTo(gateway.address, 'packed');
    await expectRightIncrement(connected);
    expect(connected.source.client.rest.isGivenUp).toBe(false);
    const readTime = await connected.source.snapshotTime();
    const overRest = await scanAll(connected, { readTime, namesOnly: true });
    expect(connected.source.client.rest.isGivenUp).toBe(false);
    connected.source.client.rest.giveUp();
    expect(await scanAll(connected, { readTime, namesOnly: true })).toEqual(overRest);
    expect(overRest).toHaveLength(399);
  });
});
