import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Firestore } from '@google-cloud/firestore';
import { type FirestoreSandbox, startFirestoreSandbox, startGoogleSandbox } from '@holdfast/sandbox';
import type pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { isForeignFirestoreInstalled, startForeignFirestore } from '../../../../engine/testing/foreign-firestore.ts';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { codeBlock } from '../../../testing/documentation.ts';
import { asOwner } from '../../../testing/people.ts';

let bench: BackupBench;
let google: Awaited<ReturnType<typeof startGoogleSandbox>>;
let withAccounts: FirestoreSandbox;
let staging: { id: string };
const elsewhere = { project: 'staging', database: '(default)' };
const documents = 120;

beforeAll(async () => {
  google = await startGoogleSandbox({
    projects: [{ projectId: 'people', users: [{ localId: 'ada' }, { localId: 'bob' }] }],
  });
  withAccounts = await startFirestoreSandbox();
  const endpoints = { ...google.endpoints, firestore: `http://${withAccounts.address}` };
  bench = await startBackupBench({ ...hasty, GOOGLE_API_ENDPOINTS: JSON.stringify(endpoints) });
  staging = await connect('Staging', 'staging', bench.sandbox.address);
});
afterAll(async () => {
  await bench.close();
  await withAccounts.stop();
  await google.stop();
});
beforeEach(async () => {
  bench.clear();
  bench.sandbox.control.clear(elsewhere);
  const writer = bench.firestore.batch();
  for (let n = 0; n < documents; n++)
    writer.set(bench.firestore.doc(`users/u${1000 + n}`), { n, of: { b: 1, a: [n] } });
  await writer.commit();
});
afterEach(() => bench.sandbox.control.clearFaults());

async function post(path: string, body: object, status = 202) {
  const answer = await bench.app.request('POST', `/api/v1${path}`, { ...bench.as, body });
  expect(answer.status, answer.text).toBe(status);
  return answer.body.data ?? answer.body.error;
}

const connect = (name: string, sourceProjectId: string, host: string) =>
  post('/projects', { name, sourceProjectId, connection: { type: 'emulator', host } }, 201);

async function untilDrilled(backupId: string, drillId: string) {
  const find = async () =>
    (await bench.get(`/backups/${backupId}/drills`)).find(({ id }: { id: string }) => id === drillId);
  await expect.poll(async () => (await find()).status).toMatch(/completed|failed/);
  return find();
}

async function drill(backupId: string, body: object = {}) {
  const { id } = await post(`/backups/${backupId}/drill`, body);
  return untilDrilled(backupId, id);
}

/** Somebody does something in the target while the drill waits for the answer to a call. */
async function drillWhile(backupId: string, call: { method: string; skip?: number }, act: () => Promise<void>) {
  const gate = Promise.withResolvers<void>();
  bench.sandbox.control.addFault({ ...call, times: 1, until: gate.promise });
  const { id } = await post(`/backups/${backupId}/drill`, { targetProjectId: staging.id });
  await expect.poll(() => bench.sandbox.control.faultHits()).toEqual([1]);
  await act();
  gate.resolve();
  return untilDrilled(backupId, id);
}

/** What lies in the target, without asking through the service. */
async function stagingContents(): Promise<Record<string, unknown>> {
  const firestore = new Firestore({ projectId: 'staging' });
  try {
    const found: Record<string, unknown> = {};
    for (const collection of await firestore.listCollections())
      for (const document of (await collection.get()).docs) found[document.ref.path] = document.data();
    return found;
  } finally {
    await firestore.terminate();
  }
}

async function setInStaging(path: string, fields: object): Promise<void> {
  const firestore = new Firestore({ projectId: 'staging' });
  await firestore.doc(path).set(fields);
  await firestore.terminate();
}

const sql = <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) =>
  asOwner(bench.app.databaseUrl, async (client) => (await client.query<Row>(text, values)).rows);

async function anomaliesOf(backupId: string): Promise<string[]> {
  const rows = await sql<{ payload: { data: { reason: string; backup: { id: string } } } }>(
    `select payload from outbox_events where type = 'backup.anomaly' order by id`,
  );
  return rows.filter(({ payload }) => payload.data.backup.id === backupId).map(({ payload }) => payload.data.reason);
}

describe('a drill into a named target', () => {
  test('restores into an empty database, compares every value, and leaves there what it wrote', async () => {
    const backupId = await bench.backUp();
    const done = await drill(backupId, { targetProjectId: staging.id });
    expect(done, JSON.stringify(done.error)).toMatchObject({ status: 'completed', passed: true });
    expect(done.report).toMatchObject({
      backup: { type: 'full', scope: 'everything', chain: [backupId], database: 'projects/shop/databases/(default)' },
      target: { kind: 'project', database: 'projects/staging/databases/(default)', contents: 'left' },
      engine: { name: 'holdfast' },
      comparison: 'values',
      documentsExpected: documents,
      documentsRestored: documents,
      documentsMatched: documents,
      authUsers: null,
      differences: { count: 0, sample: [] },
    });
    expect(done.report.target.foundEmptyAt).toMatch(/Z$/);
    expect(done.report.bytes).toBeGreaterThan(documents * 20);
    expect(Object.keys(await stagingContents())).toHaveLength(documents);
  });

  test('that is not empty is refused with what was found, and nothing in it changes', async () => {
    const backupId = await bench.backUp();
    await setInStaging('orders/o1/lines/l1', { mine: true });
    await setInStaging('users/u1000', { mine: true });
    const before = await stagingContents();
    const refused = await post(`/backups/${backupId}/drill`, { targetProjectId: staging.id }, 409);
    expect(refused.code).toBe('INVALID_STATE');
    expect(refused.message).toBe(
      'The database of Staging (projects/staging/databases/(default)) is not empty, so no drill may write into it: it holds documents in orders, users.',
    );
    expect(await stagingContents()).toEqual(before);
    expect(await bench.get(`/backups/${backupId}/drills`)).toEqual([]);
  });

  test('that was filled while it waited for its turn fails before it writes, and tells nothing about the backup', async () => {
    const backupId = await bench.backUp();
    const body = { targetProjectId: staging.id };
    bench.sandbox.control.addFault({ method: 'BatchWrite', latencyMs: 300 });
    const [first, second] = [
      await post(`/backups/${backupId}/drill`, body),
      await post(`/backups/${backupId}/drill`, body),
    ];
    bench.sandbox.control.clearFaults();
    expect(await untilDrilled(backupId, first.id)).toMatchObject({ passed: true });
    const refused = await untilDrilled(backupId, second.id);
    expect(refused).toMatchObject({
      status: 'failed',
      report: null,
      error: { code: 'INVALID_STATE', retryable: false },
    });
    expect(refused.error.message).toContain('it holds documents in users');
    expect(await anomaliesOf(backupId)).toEqual([]);
  });

  describe('that does not take the documents, or is away', () => {
    const ends = [
      ['PERMISSION_DENIED', 'RESTORE_PERMISSION_DENIED'],
      ['RESOURCE_EXHAUSTED', 'RESTORE_QUOTA_EXCEEDED'],
      ['UNAVAILABLE', 'SOURCE_UNAVAILABLE'],
    ] as const;
    test.each(ends)('fails with its reason (%s), and tells nothing about the backup', async (status, code) => {
      const backupId = await bench.backUp();
      bench.sandbox.control.addFault({ method: 'BatchWrite', status });
      const refused = await drill(backupId, { targetProjectId: staging.id });
      expect(refused).toMatchObject({ status: 'failed', report: null, error: { code } });
      await expectNothingTold(backupId);
      const [note] = await bench.get('/audit-logs?action=drill.failed');
      expect(note).toMatchObject({ resource: { id: refused.id }, details: { backupId, code } });
    });

    test('is not called a difference when it stops in the middle', async () => {
      const backupId = await bench.backUp();
      const { promise: until, resolve: goOn } = Promise.withResolvers<void>();
      onTestFinished(() => goOn());
      bench.sandbox.control.setWriteQuota({ documentsPerSecond: documents / 2 });
      bench.sandbox.control.addFault({ method: 'BatchWrite', skip: 1, until });
      const { id } = await post(`/backups/${backupId}/drill`, { targetProjectId: staging.id });
      await expect.poll(() => bench.sandbox.control.faultHits()[0]).toBeGreaterThan(0);
      bench.sandbox.control.setWriteQuota({ documentsPerSecond: 1e-6 });
      goOn();
      const refused = await untilDrilled(backupId, id);
      expect(refused).toMatchObject({ status: 'failed', error: { code: 'RESTORE_QUOTA_EXCEEDED', retryable: true } });
      expect(refused.error.message).toMatch(/Quota exceeded/);
      await expectNothingTold(backupId);
    });

    async function expectNothingTold(backupId: string): Promise<void> {
      expect(await anomaliesOf(backupId)).toEqual([]);
      expect((await bench.get(`/backups/${backupId}`)).anomaly).toBeNull();
      expect((await bench.get(`/projects/${bench.shop.projectId}`)).retentionFrozen).toBeNull();
    }
  });

  test('taken up again after its worker died creates what is missing, overwrites and deletes nothing', async () => {
    const backupId = await bench.backUp();
    const done = await drill(backupId, { targetProjectId: staging.id });
    const firestore = new Firestore({ projectId: 'staging' });
    await firestore.doc('users/u1003').delete();
    await firestore.doc('users/u1007').set({ edited: 'by somebody' });
    await firestore.doc('notes/mine').set({ mine: true });
    await firestore.terminate();
    // As a worker that was killed leaves it: running, found empty, some documents there, its job lost.
    await sql(
      `update drills set status = 'running', completed_at = null, report = null, signed_report = null,
         admitted_at = now() + interval '1 second' where id = $1`,
      [done.id],
    );
    await bench.app.tasks.runNow('requeue lost restores');
    const again = await untilDrilled(backupId, done.id);
    expect(again, JSON.stringify(again.error)).toMatchObject({ status: 'failed', passed: null, report: null });
    expect(again.error).toMatchObject({ code: 'INVALID_STATE', retryable: false });
    expect(again.error.message).toContain('wrote into the database of Staging');
    expect(again.error.message).toContain('notes/mine, users/u1007.');
    const contents = await stagingContents();
    expect(contents['users/u1007']).toEqual({ edited: 'by somebody' });
    expect(contents['notes/mine']).toEqual({ mine: true });
    expect(contents['users/u1003']).toEqual({ n: 3, of: { a: [3], b: 1 } });
    expect(await anomaliesOf(backupId)).toEqual([]);
  });

  test('that somebody else writes to meanwhile proves nothing, and that is not held against the backup', async () => {
    const backupId = await bench.backUp();
    const ended = await drillWhile(backupId, { method: 'BatchWrite' }, async () => {
      await setInStaging('users/u1001', { mine: true });
      await setInStaging('notes/mine', { mine: true });
    });
    expect(ended, JSON.stringify(ended)).toMatchObject({ status: 'failed', passed: null, report: null });
    expect(ended.error.code).toBe('INVALID_STATE');
    expect(ended.error.message).toContain('notes/mine, users/u1001.');
    expect(await anomaliesOf(backupId)).toEqual([]);
  });

  test('from which a document is missing that nobody is known to have touched is a difference of the backup', async () => {
    const backupId = await bench.backUp();
    // The target is looked at twice before it is written to; the third question is the first of the reading back.
    const ended = await drillWhile(backupId, { method: 'RunQuery', skip: 2 }, async () => {
      const firestore = new Firestore({ projectId: 'staging' });
      await firestore.doc('users/u1005').delete();
      await firestore.terminate();
    });
    expect(ended, JSON.stringify(ended.error)).toMatchObject({
      status: 'completed',
      passed: false,
      report: { differences: { count: 1, sample: [{ path: 'users/u1005', kind: 'missing' }] } },
    });
    expect(await anomaliesOf(backupId)).toEqual(['drill_failed']);
  });

  test('keeps the ramp-up that the project asks for', async () => {
    const backupId = await bench.backUp();
    const writes = async (writeRampUp: boolean) => {
      const path = `/api/v1/projects/${staging.id}`;
      await bench.app.request('PATCH', path, { ...bench.as, body: { settings: { writeRampUp } } });
      bench.sandbox.control.clear(elsewhere);
      bench.sandbox.control.clearFaults();
      bench.sandbox.control.addFault({ method: 'BatchWrite', latencyMs: 0 });
      expect(await drill(backupId, { targetProjectId: staging.id })).toMatchObject({ passed: true });
      return bench.sandbox.control.faultHits()[0];
    };
    // Under the first step of the ramp-up, 500 a second, requests carry at most a tenth of a second's writes.
    expect(await writes(true)).toBe(Math.ceil(documents / 50));
    expect(await writes(false)).toBe(1);
  });

  test.skipIf(!isForeignFirestoreInstalled)('passes though the database orders the fields of maps anew', async () => {
    const backupId = await bench.backUp();
    const foreign = await startForeignFirestore();
    try {
      const project = await connect('Foreign', 'foreign', foreign.address);
      const done = await drill(backupId, { targetProjectId: project.id });
      expect(done, JSON.stringify(done)).toMatchObject({ passed: true, report: { documentsMatched: documents } });
    } finally {
      await foreign.stop();
    }
  });
});

test('a signed report says what was restored where, by what, compared how, and is checked as the documentation says', async () => {
  const full = await bench.backUp();
  await bench.firestore.doc('users/new').set({ later: true });
  const backupId = await bench.backUp({ type: 'incremental' });
  const done = await drill(backupId);
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-drill-'));
  try {
    const file = join(folder, 'report.jws');
    await writeFile(file, done.signedReport);
    await writeFile(join(folder, 'check-report.mjs'), codeBlock('docs/drills.md', 'check-report.mjs'));
    await mkdir(join(folder, 'node_modules'));
    await symlink(new URL('../../../../../node_modules/jose', import.meta.url), join(folder, 'node_modules/jose'));
    const check = (path: string) =>
      promisify(execFile)('node', ['check-report.mjs', bench.app.address, path], { cwd: folder });
    const { stdout } = await check(file);
    const { mismatches: _, ...report } = done.report;
    expect(JSON.parse(stdout)).toEqual({
      drillId: done.id,
      backupId,
      organizationId: bench.shop.organizationId,
      projectId: bench.shop.projectId,
      targetProjectId: null,
      passed: true,
      completedAt: done.completedAt,
      ...report,
    });
    expect(report).toMatchObject({
      backup: {
        type: 'incremental',
        chain: [full, backupId],
        sha256: (await bench.get(`/backups/${backupId}`)).sha256,
      },
      target: { kind: 'scratch', foundEmptyAt: null, contents: 'discarded' },
      documentsMatched: documents + 1,
    });
    const [header, payload, signature] = done.signedReport.split('.');
    const forged = Buffer.from(payload, 'base64url').toString().replace('"passed":true', '"passed":false');
    await writeFile(file, [header, Buffer.from(forged).toString('base64url'), signature].join('.'));
    await expect(check(file)).rejects.toThrow(/signature verification failed/);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('accounts are read and counted, and written nowhere', async () => {
  const key = google.control.createServiceAccount('people');
  const connection = { type: 'service_account', key };
  const project = await post('/projects', { name: 'People', sourceProjectId: 'people', connection }, 201);
  const backup = await bench.run({ projectId: project.id, includeAuthUsers: true });
  expect(backup.status, JSON.stringify(backup.error)).toBe('completed');
  const done = await drill(backup.id, { targetProjectId: staging.id });
  expect(done, JSON.stringify(done.error)).toMatchObject({
    passed: true,
    report: { authUsers: { expected: 2, read: 2 } },
  });
  expect(google.control.state.projects.get('staging')).toBeUndefined();
});

describe('an anomaly is told, and retention frozen', () => {
  const damage = async (backupId: string) => {
    const folder = join(bench.app.folder, 'storage', bench.shop.organizationId, 'backups', backupId, 'segments');
    const [name] = await readdir(folder);
    await writeFile(join(folder, name!), 'not what was written');
  };
  const frozen = async () => (await bench.get(`/projects/${bench.shop.projectId}`)).retentionFrozen;
  const unfreeze = () => post(`/projects/${bench.shop.projectId}/retention/unfreeze`, {}, 200);

  test('when a drill cannot restore a backup', async () => {
    if (await frozen()) await unfreeze();
    const backupId = await bench.backUp();
    await damage(backupId);
    expect(await drill(backupId)).toMatchObject({ status: 'failed', error: { code: 'INTEGRITY_ERROR' } });
    expect(await anomaliesOf(backupId)).toEqual(['drill_failed']);
    expect((await bench.get(`/backups/${backupId}`)).anomaly).toMatchObject({ reason: 'drill_failed' });
    expect(await frozen()).toMatchObject({ backupId, reason: 'A drill could not restore a backup.' });
    const [note] = await bench.get('/audit-logs?action=drill.failed');
    expect(note).toMatchObject({ resource: { type: 'drill' }, details: { backupId, code: 'INTEGRITY_ERROR' } });
    const [, started] = await bench.get(`/audit-logs?resourceType=drill&resourceId=${note.resource.id}`);
    expect(started).toMatchObject({ action: 'drill.started', details: { backupId } });
    await unfreeze();
  });

  test('when a verification finds a backup damaged', async () => {
    const backupId = await bench.backUp();
    await damage(backupId);
    await post(`/backups/${backupId}/verify`, {});
    const state = async () => (await bench.get(`/backups/${backupId}`)).verification?.status;
    await expect.poll(state).toBe('failed');
    expect(await anomaliesOf(backupId)).toEqual(['verification_failed']);
    expect((await bench.get(`/backups/${backupId}`)).anomaly).toMatchObject({ reason: 'verification_failed' });
    expect(await frozen()).toMatchObject({ backupId });
    await unfreeze();
  });
});

test('the drills of all backups are one list, by project or by backup', async () => {
  const first = await drill(await bench.backUp());
  const second = await drill(await bench.backUp());
  const ids = async (query = '') => (await bench.get(`/drills${query}`)).map(({ id }: { id: string }) => id);
  expect((await ids()).slice(0, 2)).toEqual([second.id, first.id]);
  expect(await ids(`?backupId=${first.backupId}`)).toEqual([first.id]);
  expect(await ids(`?projectId=${staging.id}`)).toEqual([]);
});
