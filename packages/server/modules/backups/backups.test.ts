import { loadSample } from '@holdfast/sandbox';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type BackupBench, startBackupBench } from '../../testing/backup-bench.ts';
import { asOwner } from '../../testing/people.ts';
import { untilEnded } from '../../testing/protected-project.ts';
import { addMember } from '../../testing/team.ts';

let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench();
});
afterAll(() => bench.close());
beforeEach(() => {
  bench.clear();
  bench.sandbox.control.clearFaults();
});

const call = (method: string, path: string, body?: object) =>
  bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body ? { body } : {}) });
const shop = { project: 'shop', database: '(default)' };

describe('a full backup', () => {
  test('ends completed, with the documents that the database has', async () => {
    loadSample(bench.sandbox.control.database(shop), { seed: 1, documents: 2000 });
    const started = await call('POST', '/backups', { projectId: bench.shop.projectId });
    expect(started.status, started.text).toBe(202);
    expect(started.headers.get('location')).toBe(`/api/v1/backups/${started.body.data.id}`);
    expect(started.body.data).toMatchObject({ status: 'pending', type: 'full', trigger: 'manual', collections: ['*'] });
    const backup = await untilEnded(bench.app, `/api/v1/backups/${started.body.data.id}`, bench.as);
    expect(backup).toMatchObject({
      status: 'completed',
      error: null,
      documentCount: 2000,
      progress: { percent: 100 },
      warnings: [],
      parentId: null,
    });
    expect(backup.snapshots).toEqual([{ time: backup.snapshotTime, percent: 100, documents: 2000 }]);
    expect(backup.copies).toEqual([
      { storageDestinationId: bench.shop.destinationId, status: 'completed', error: null },
    ]);
    expect(backup.compressedSize).toBeGreaterThan(0);
    expect(backup.sha256).toMatch(/^[0-9a-f]{64}$/);
    const events = await asOwner(bench.app.databaseUrl, (client) =>
      client.query(
        `select type, payload from outbox_events where payload->'data'->'backup'->>'id' = $1 order by position`,
        [backup.id],
      ),
    );
    const types = events.rows.map(({ type }) => type);
    expect(types[0]).toBe('backup.started');
    expect(types.at(-1)).toBe('backup.completed');
    const tenths = events.rows
      .filter(({ type }) => type === 'backup.progress')
      .map(({ payload }) => payload.data.progress.percent);
    expect(tenths).toEqual([10, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
  });

  test('takes what it is asked for and nothing else', { tags: 'long' }, async () => {
    for (const path of ['users/ada', 'users/ada/orders/1', 'logs/1', 'logs/1/lines/1', 'other/1'])
      await bench.firestore.doc(path).set({ n: 1 });
    const paths = async (body: object) => {
      const id = await bench.backUp(body);
      return (await bench.get(`/backups/${id}/documents`)).map(({ path }: { path: string }) => path);
    };
    expect(await paths({ collections: ['users', 'other'] })).toEqual(['other/1', 'users/ada', 'users/ada/orders/1']);
    expect(await paths({ collections: ['users'], includeSubcollections: false })).toEqual(['users/ada']);
    expect(await paths({ includeSubcollections: false })).toEqual(['logs/1', 'other/1', 'users/ada']);
    expect(await paths({ excludeCollections: ['logs', 'other'] })).toEqual(['users/ada', 'users/ada/orders/1']);
  });

  test('tells of a named collection without documents, takes one as its manifest prints it, and fails when all are empty', async () => {
    await bench.firestore.doc('users/ada/orders/1').set({ n: 1 });
    const partly = await bench.run({ collections: ['users', 'userz'] });
    expect(partly).toMatchObject({ status: 'completed', documentCount: 1 });
    expect(partly.warnings).toMatchObject([{ code: 'COLLECTION_NOT_FOUND' }]);
    const printed = await bench.run({ collections: ['users/*/orders'] });
    expect(printed, JSON.stringify(printed.error)).toMatchObject({
      status: 'completed',
      documentCount: 1,
      warnings: [],
    });
    const none = await bench.run({ collections: ['userz'] });
    expect(none).toMatchObject({ status: 'failed', error: { code: 'COLLECTION_NOT_FOUND', retryable: false } });
  });

  test('waits for the one before it of the same project', { tags: 'long' }, async () => {
    await bench.firestore.doc('users/ada').set({ n: 1 });
    bench.sandbox.control.addFault({ method: 'RunQuery', latencyMs: 1500 });
    const [first, second] = [
      await call('POST', '/backups', { projectId: bench.shop.projectId }),
      await call('POST', '/backups', { projectId: bench.shop.projectId }),
    ].map(({ body }) => body.data.id);
    await expect.poll(async () => (await bench.get(`/backups/${first}`)).status).toBe('running');
    expect((await bench.get(`/backups/${second}`)).status).toBe('pending');
    bench.sandbox.control.clearFaults();
    for (const id of [first, second])
      expect((await untilEnded(bench.app, `/api/v1/backups/${id}`, bench.as)).status).toBe('completed');
  });
});

describe('an increment', () => {
  test('builds on the newest backup of the same scope, and says so when there is none', async () => {
    const other = await call('POST', '/projects', {
      name: 'Other',
      sourceProjectId: 'other',
      connection: { type: 'emulator', host: bench.sandbox.address },
    });
    const alone = await bench.run({ projectId: other.body.data.id, type: 'incremental' });
    expect(alone).toMatchObject({
      status: 'completed',
      type: 'full',
      parentId: null,
      warnings: [{ code: 'BECAME_FULL', message: expect.stringContaining('became a full one') }],
    });
    await bench.firestore.doc('users/ada').set({ n: 1 });
    const base = await bench.backUp();
    await bench.firestore.doc('elsewhere/1').set({ n: 1 });
    await bench.backUp({ collections: ['elsewhere'] });
    await bench.firestore.doc('elsewhere/1').delete();
    await bench.firestore.doc('users/bob').set({ n: 2 });
    await bench.firestore.doc('users/ada').delete();
    const increment = await bench.run({ type: 'incremental' });
    expect(increment).toMatchObject({
      status: 'completed',
      type: 'incremental',
      parentId: base,
      documentCount: 1,
      warnings: [],
    });
    expect((await bench.get(`/backups/${increment.id}/documents`)).map(({ path }: { path: string }) => path)).toEqual([
      'users/bob',
    ]);
  });
});

describe('a dry run', () => {
  test('counts exactly, costs next to nothing and changes nothing', async () => {
    for (let n = 0; n < 12; n++) await bench.firestore.doc(`users/${n}`).set({ n });
    for (let n = 0; n < 5; n++) await bench.firestore.doc(`users/1/orders/${n}`).set({ n });
    await bench.firestore.doc('ghosts/none/below/1').set({ n: 1 });
    const known = (await bench.get('/backups?limit=200')).length;
    bench.sandbox.control.resetCounters();
    const answer = await call('POST', '/backups', { projectId: bench.shop.projectId, dryRun: true });
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body.data).toMatchObject({ dryRun: true, documentCount: 18, estimatedReads: 19 });
    const counts = Object.fromEntries(
      answer.body.data.collections.map(({ path, documentCount }: { path: string; documentCount: number }) => [
        path,
        documentCount,
      ]),
    );
    expect(counts).toEqual({ users: 12, 'users/*/orders': 5, 'ghosts/*/below': 1 });
    expect(await bench.get('/backups?limit=200')).toHaveLength(known);
    const flat = await call('POST', '/backups', {
      projectId: bench.shop.projectId,
      dryRun: true,
      collections: ['users'],
      includeSubcollections: false,
    });
    expect(flat.body.data.documentCount).toBe(12);
  });
});

describe('the list of backups', () => {
  test('pages without a gap while others are made, and filters by what the record says', { tags: 'long' }, async () => {
    await bench.firestore.doc('users/ada').set({ n: 1 });
    for (let n = 0; n < 3; n++) await bench.backUp();
    await bench.backUp({ type: 'incremental' });
    const all = (await bench.get('/backups?limit=200')).map(({ id }: { id: string }) => id);
    expect(all).toEqual(all.toSorted().toReversed());
    const seen: string[] = [];
    let cursor = '';
    do {
      const page = await call('GET', `/backups?limit=2${cursor}`);
      seen.push(...page.body.data.map(({ id }: { id: string }) => id));
      if (seen.length === 2) await bench.backUp();
      cursor = page.body.pagination.nextCursor ? `&cursor=${page.body.pagination.nextCursor}` : '';
    } while (cursor);
    expect(seen).toEqual(all);
    const increments = await bench.get('/backups?type=incremental&status=completed&trigger=manual');
    expect(increments.every(({ type }: { type: string }) => type === 'incremental')).toBe(true);
    expect(await bench.get('/backups?trigger=scheduled')).toEqual([]);
    expect(await bench.get('/backups?projectId=prj_none')).toEqual([]);
    expect(await bench.get('/backups?from=2100-01-01')).toEqual([]);
    expect(await bench.get('/backups?to=2000-01-01')).toEqual([]);
    const foreign = await call(
      'GET',
      `/backups?limit=2&type=full&cursor=${(await call('GET', '/backups?limit=2')).body.pagination.nextCursor}`,
    );
    expect(foreign.body.error.code).toBe('VALIDATION_ERROR');
  });
});

describe('deleting', () => {
  test('is refused under hold, under lock, to members, and for another version', async () => {
    await bench.firestore.doc('users/ada').set({ n: 1 });
    const id = await bench.backUp();
    const member = await addMember(bench.app, bench.as.organizationId, 'member');
    const asMember = await bench.app.request('DELETE', `/api/v1/backups/${id}`, {
      token: member.token,
      organizationId: bench.as.organizationId,
    });
    expect(asMember.body.error.code).toBe('PERMISSION_DENIED');
    expect((await call('POST', `/backups/${id}/hold`)).body.data.legalHold).toBe(true);
    expect((await call('DELETE', `/backups/${id}`)).body.error.code).toBe('INVALID_STATE');
    expect((await call('DELETE', `/backups/${id}/hold`)).body.data.legalHold).toBe(false);
    const locked = (until: string | null) =>
      asOwner(bench.app.databaseUrl, (client) =>
        client.query('update backups set locked_until = $2 where id = $1', [id, until]),
      );
    await locked('2999-01-01');
    expect((await call('DELETE', `/backups/${id}`)).body.error.code).toBe('INVALID_STATE');
    await locked(null);
    const headers = { 'if-match': '"another"' };
    expect((await bench.app.request('DELETE', `/api/v1/backups/${id}`, { ...bench.as, headers })).status).toBe(412);
    expect((await call('DELETE', `/backups/${id}`)).status).toBe(200);
    expect((await call('GET', `/backups/${id}`)).status).toBe(404);
    expect((await call('DELETE', `/backups/${id}`)).body.error.code).toBe('BACKUP_NOT_FOUND');
  });
});

describe('live progress', () => {
  test('comes as events until the backup has ended', { tags: 'long' }, async () => {
    await bench.firestore.doc('users/ada').set({ n: 1 });
    bench.sandbox.control.addFault({ method: 'RunQuery', latencyMs: 700 });
    const { id } = (await call('POST', '/backups', { projectId: bench.shop.projectId })).body.data;
    const stream = await call('GET', `/backups/${id}/events`);
    expect(stream.headers.get('content-type')).toContain('text/event-stream');
    const events = stream.text
      .split('\n\n')
      .filter((text) => text.startsWith('event: progress'))
      .map((text) => JSON.parse(text.slice(text.indexOf('data: ') + 6)));
    expect(events.length).toBeGreaterThan(1);
    expect(events.at(-1)).toMatchObject({ id, status: 'completed', progress: { percent: 100 }, error: null });
    expect(events.map(({ progress }) => progress.percent)).toEqual(
      events.map(({ progress }) => progress.percent).toSorted((a, b) => a - b),
    );
    expect((await call('GET', '/backups/bkp_none/events')).body.error.code).toBe('BACKUP_NOT_FOUND');
  });
});

describe('health', () => {
  test('tells of a default destination that does not work', async () => {
    const health = async () => (await bench.app.request('GET', '/health')).body;
    expect(await health()).toMatchObject({ status: 'healthy', checks: { storage: 'ok' } });
    const set = (status: string) =>
      asOwner(bench.app.databaseUrl, (client) => client.query('update storage_destinations set status = $1', [status]));
    await set('error');
    expect(await health()).toMatchObject({ status: 'degraded', checks: { storage: 'error' } });
    await set('connected');
  });
});
