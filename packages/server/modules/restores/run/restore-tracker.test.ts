// @module-tag long
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { recordKind, sealJournalPage } from '@holdfast/engine';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { asOwner } from '../../../testing/people.ts';
import { untilEnded } from '../../../testing/protected-project.ts';
import { createBackupKeys } from '../../backups/keys/backup-keys.ts';
import { OrganizationKeys } from '../../organizations/keys/organization-keys.ts';
import type { RestoresContext } from '../context.ts';
import { journalStore } from '../journal/journal-store.ts';
import { journalSeal } from '../journal/restore-journal.ts';
import { savedDocuments } from '../journal/saved-documents.ts';
import { restoreStore } from '../restore-store.ts';
import { RestoreTracker, type RestoreWork } from './restore-tracker.ts';

let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench(hasty);
  await bench.firestore.doc('users/ada').set({ n: 1 });
});
afterAll(() => bench.close());

/** The database as the tracker of a restore sees it: `lose` says what becomes of a transaction and of the answer to it. */
function databaseThat(lose: () => 'nothing' | 'work' | 'answer') {
  const { database } = bench.app.platform;
  const tenant: typeof database.tenant = async (organizationId, work) => {
    const lost = lose();
    if (lost === 'work') throw new Error('the database is away');
    const result = await database.tenant(organizationId, work);
    if (lost === 'answer') throw new Error('the connection was cut');
    return result;
  };
  return new Proxy(database, {
    get: (target, name) => {
      if (name === 'tenant') return tenant;
      const value = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** A restore that has ended, running again under a tracker of the test; not admitted, so that nobody takes it for one whose worker died. */
async function trackerOf(id: string, lose: Parameters<typeof databaseThat>[0], stage: string): Promise<RestoreTracker> {
  const checkpoint = JSON.stringify({ stage });
  const running = `status = 'running', admitted_at = null, completed_at = null`;
  await sql(`update restores set ${running}, checkpoint = $2 where id = $1`, [id, checkpoint]);
  const { platform } = bench.app;
  const { organizationId } = bench.as;
  const row = await platform.database.tenant(organizationId, (transaction) =>
    restoreStore.get(transaction, organizationId, id),
  );
  const keys = createBackupKeys(new OrganizationKeys(platform), async () => true);
  const context = { keys, platform: { ...platform, database: databaseThat(lose), clock: platform.clock } };
  const organization = { id: organizationId, name: '' };
  const tracker = new RestoreTracker(context as RestoresContext, { row, organization } as RestoreWork);
  await tracker.useJournal(await journalSeal(context, row));
  return tracker;
}

async function restored(): Promise<string> {
  const body = { backupId: await bench.backUp() };
  const started = await bench.app.request('POST', '/api/v1/backups/restore', { ...bench.as, body });
  const { id } = started.body.data;
  await untilEnded(bench.app, `/api/v1/backups/restore/${id}`, bench.as);
  return id;
}

const sql = (text: string, values: unknown[] = []) =>
  asOwner(bench.app.databaseUrl, (client) => client.query(text, values));

test('the progress of account imports survives a short outage of the database', async () => {
  const id = await restored();
  let isAway = false;
  const tracker = await trackerOf(id, () => (isAway ? 'work' : 'nothing'), 'users');
  const users = { settled: 2500, imported: 2497, refused: ['a', 'b', 'c'] };
  await tracker.reach({ ...tracker.row.checkpoint, users });
  isAway = true;
  await expect(tracker.check(undefined)).rejects.toThrow('away');
  isAway = false;
  expect(await tracker.check(undefined)).toBeUndefined();
  const { rows } = await sql('select checkpoint from restores where id = $1', [id]);
  expect(rows).toEqual([{ checkpoint: { stage: 'users', users } }]);
  await sql(`update restores set status = 'completed', completed_at = now() where id = $1`, [id]);
});

test('journal pages whose answer was lost are stored only once, so an undo handles each document once', async () => {
  const id = await restored();
  let isCut = false;
  const tracker = await trackerOf(id, () => (isCut ? 'answer' : 'nothing'), 'puts');
  const { guard, onProgress } = tracker.stage({
    checkpoint: () => tracker.row.checkpoint,
    onMismatch: async () => 'replace',
  });
  const write = async (path: string) => {
    const version = { seconds: 1, nanos: 0 };
    guard.onSettled?.([{ path, kind: recordKind.put, result: 'written', replaced: null, version }]);
    const counts = { written: 1, skipped: 0, deleted: 0, failed: 0, conflicts: 0, bytes: 1 };
    await onProgress({ ...counts, settledThrough: path, settledRecords: 1 });
  };
  await write('users/b');
  isCut = true;
  await expect(tracker.check(undefined)).rejects.toThrow('cut');
  await write('users/c');
  await expect(tracker.check(undefined)).rejects.toThrow('cut');
  isCut = false;
  expect(await tracker.check(undefined)).toBeUndefined();
  await write('users/d');
  expect(await tracker.check(undefined)).toBeUndefined();
  await sql(`update restores set status = 'completed', completed_at = now() where id = $1`, [id]);
  const body = { dryRun: true };
  const undo = await bench.app.request('POST', `/api/v1/backups/restore/${id}/undo`, { ...bench.as, body });
  const planned = await untilEnded(bench.app, `/api/v1/backups/restore/${undo.body.data.id}`, bench.as);
  // The three were never written: what is there in their place is somebody else's.
  expect(planned, JSON.stringify(planned.error)).toMatchObject({ preview: { replace: 1 }, conflicts: 3 });
});

test('of the saved documents no more are kept in memory than needed', async () => {
  const id = await restored();
  const { platform } = bench.app;
  const { organizationId } = bench.as;
  const context = { platform, keys: createBackupKeys(new OrganizationKeys(platform), async () => true) };
  const rowNow = () =>
    platform.database.tenant(organizationId, (transaction) => restoreStore.get(transaction, organizationId, id));
  const seal = await journalSeal(context, await rowNow());
  const bytesOf = (n: number) => Buffer.alloc(1024 * 1024, n);
  const sealed: Uint8Array[] = [];
  for (let n = 0; n < 24; n++) {
    const one = { path: `users/${n}`, version: n === 0 ? null : { seconds: n, nanos: 1 }, bytes: bytesOf(n) };
    sealed.push(await sealJournalPage({ outcomes: [], saved: [one] }, seal));
  }
  await platform.database.tenant(organizationId, async (transaction) => {
    const locked = await restoreStore.lock(transaction, organizationId, id);
    await journalStore.add(transaction, locked, { sealed, unsure: 0 }, platform.clock.now());
  });
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const heldBytes = () => {
    collect();
    return process.memoryUsage().arrayBuffers;
  };
  // What was collected is given back a moment later, by another thread.
  let before = heldBytes();
  for (let turn = 0; turn < 4; turn++) {
    await sleep(10);
    before = Math.min(before, heldBytes());
  }
  const saved = await savedDocuments(context, await rowNow());
  await expect.poll(() => heldBytes() - before).toBeLessThan(5 * 1024 * 1024);
  expect(Buffer.compare((await saved.bytes('users/17'))!, bytesOf(17))).toBe(0);
  expect([saved.version('users/17'), saved.version('users/0')]).toEqual([{ seconds: 17, nanos: 1 }, null]);
  expect([await saved.bytes('users/0'), saved.has('users/99')]).toEqual([undefined, false]);
});
