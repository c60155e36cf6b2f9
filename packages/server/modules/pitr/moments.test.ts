import { setTimeout as sleep } from 'node:timers/promises';
import { Firestore, type WriteResult } from '@google-cloud/firestore';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BackupBench, startBackupBench } from '../../testing/backup-bench.ts';
import { contentsOf } from '../../testing/firestore-contents.ts';
import { untilEnded } from '../../testing/protected-project.ts';

const source = { project: 'shop', database: '(default)' };
let bench: BackupBench;
let mirror: Firestore;
let mirrorId: string;

beforeAll(async () => {
  bench = await startBackupBench({ PITR_SEGMENT_SECONDS: '0.2' });
  bench.sandbox.control.setListenMode('as-production');
  bench.sandbox.control.createDatabase({ project: 'mirror', database: 'second' });
  mirror = new Firestore({ projectId: 'mirror', databaseId: 'second' });
  const added = await ask('POST', '/projects', {
    name: 'Mirror',
    sourceProjectId: 'mirror',
    databaseId: 'second',
    connection: { type: 'emulator', host: bench.sandbox.address },
  });
  expect(added.status, added.text).toBe(201);
  mirrorId = added.body.data.id;
});
afterAll(async () => {
  await mirror.terminate();
  await bench.close();
});

const ask = (method: string, path: string, body?: object) =>
  bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body ? { body } : {}) });
const pitr = (rest = '') => `/projects/${bench.shop.projectId}/pitr${rest}`;
const look = (what: string, at: string, more = '') => ask('GET', pitr(`/view/${what}?at=${at}${more}`));
const instantOf = ({ writeTime }: WriteResult, microseconds = 0) => {
  const micros = BigInt(writeTime.seconds) * 1_000_000n + BigInt(writeTime.nanoseconds / 1000 + microseconds);
  const seconds = new Date(Number(micros / 1_000_000n) * 1000).toISOString().slice(0, 19);
  return `${seconds}.${String(micros % 1_000_000n).padStart(6, '0')}Z`;
};
const set = (path: string, data: object) => bench.firestore.doc(path).set(data);
const covered = async (at: string) =>
  expect
    .poll(async () => (await ask('GET', pitr())).body.data.coveredTo ?? '', { timeout: 60_000, interval: 50 })
    .toSatisfy((to: string) => Date.parse(to) > Date.parse(at));
const restore = async (body: object) => {
  const started = await ask('POST', '/backups/restore', { projectId: bench.shop.projectId, ...body });
  expect(started.status, started.text).toBe(202);
  return untilEnded(bench.app, `/api/v1/backups/restore/${started.body.data.id}`, bench.as);
};

let first: WriteResult;
let second: WriteResult;
/** The last commit before everything goes wrong. */
let then: string;
const state = { 'users/ada': { n: 2 }, 'users/bob': { n: 1 }, 'users/ada/orders/1': { total: 5 }, 'rooms/1': { r: 1 } };

describe('an instant', () => {
  test('is the state up to and with its commit, to the microsecond', async () => {
    await set('users/bob', { n: 1 });
    await set('users/ada/orders/1', { total: 5 });
    await set('rooms/1', { r: 1 });
    expect((await ask('POST', pitr('/enable'), {})).status).toBe(200);
    await expect.poll(async () => (await ask('GET', pitr())).body.data.status).toBe('running');
    first = await set('users/ada', { n: 1 });
    await covered(instantOf(first));
    second = await set('users/ada', { n: 2 });
    then = instantOf(second);
    await covered(then);
    const ada = async (at: string) => {
      const { status, body } = await ask('GET', `/projects/${bench.shop.projectId}/documents/users/ada?at=${at}`);
      return status === 200 ? Number(body.data.fields.n.integerValue) : body.error.code;
    };
    expect(await ada(instantOf(first, -1))).toBe('DOCUMENT_NOT_FOUND');
    expect(await ada(instantOf(first))).toBe(1);
    expect(await ada(instantOf(second, -1))).toBe(1);
    expect(await ada(instantOf(second))).toBe(2);
  });

  test('in the future, before the capture, or of no project, is refused with a sentence', async () => {
    const future = await look('collections', '2999-01-01T00:00:00Z');
    expect([future.status, future.body.error.code]).toEqual([409, 'POINT_IN_TIME_UNAVAILABLE']);
    expect(future.body.error.message).toContain('lies in the future');
    const { coveredFrom, coveredTo } = (await ask('GET', pitr())).body.data;
    const early = await look('documents', '2001-01-01T00:00:00.1234567891Z');
    expect(early.body.error.message).toContain('lies before what was captured');
    expect(early.body.error.details.before).toBeNull();
    expect(Date.parse(early.body.error.details.after)).toBeLessThanOrEqual(Date.parse(coveredFrom));
    expect((await look('export', '2001-01-01T00:00:00Z')).body.error.code).toBe('POINT_IN_TIME_UNAVAILABLE');
    expect((await ask('GET', `/projects/prj_none/pitr/view/export?at=${then}`)).status).toBe(404);
    // Whatever is shown as an end of the window can be gone to.
    for (const end of [coveredFrom, coveredTo]) expect((await look('collections', end)).status, end).toBe(200);
  });

  test('can be exported, whole or one collection', async () => {
    const whole = await look('export', then);
    expect(whole.headers.get('content-type')).toContain('application/x-ndjson');
    const names = whole.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).name.split('/documents/')[1]);
    expect(names.toSorted()).toEqual(Object.keys(state).toSorted());
    const rooms = await look('export', then, '&collection=rooms');
    expect(JSON.parse(rooms.text).fields).toEqual({ r: { integerValue: '1' } });
    const none = await look('export', then, '&collection=nowhere');
    expect([none.status, none.body.error.code]).toEqual([404, 'COLLECTION_NOT_FOUND']);
  });
});

describe('a restore at an instant', () => {
  const goWrong = async () => {
    const batch = bench.firestore.batch();
    batch.delete(bench.firestore.doc('users/bob'));
    batch.delete(bench.firestore.doc('users/ada/orders/1'));
    batch.set(bench.firestore.doc('users/ada'), { n: 3, extra: true });
    batch.set(bench.firestore.doc('users/stray'), { why: 1 });
    await batch.commit();
  };
  beforeAll(goWrong);
  const wrong = { 'users/ada': { n: 3, extra: true }, 'users/stray': { why: 1 }, 'rooms/1': { r: 1 } };

  test('goes into another project and another database', async () => {
    const done = await restore({ pointInTime: then, targetProjectId: mirrorId });
    expect(done).toMatchObject({ status: 'completed', documentsRestored: 4 });
    expect(new Date(done.pointInTime).getTime()).toBe(Date.parse(then));
    expect(await contentsOf(mirror)).toEqual(state);
    expect(await contentsOf(bench.firestore)).toEqual(wrong);
  });

  test('without subcollections takes the collections at the root', { tags: 'long' }, async () => {
    bench.sandbox.control.clear({ project: 'mirror', database: 'second' });
    const options = { includeSubcollections: false };
    const done = await restore({ pointInTime: then, targetProjectId: mirrorId, options });
    expect(done).toMatchObject({ status: 'completed', documentsRestored: 3 });
  });

  test('counts in a dry run, and makes everything equal with deleteExtra; the undo is exact', {
    tags: 'long',
  }, async () => {
    const options = { deleteExtra: true };
    const dry = await restore({ pointInTime: then, options: { ...options, dryRun: true } });
    expect(dry.preview).toMatchObject({ create: 2, delete: 1 });
    expect(await contentsOf(bench.firestore)).toEqual(wrong);
    const done = await restore({ pointInTime: then, options });
    expect(done.error).toBeNull();
    expect(await contentsOf(bench.firestore)).toEqual(state);
    const undo = await ask('POST', `/backups/restore/${done.id}/undo`, {});
    expect(undo.status, undo.text).toBe(202);
    const undone = await untilEnded(bench.app, `/api/v1/backups/restore/${undo.body.data.id}`, bench.as);
    expect(undone.error).toBeNull();
    expect(await contentsOf(bench.firestore)).toEqual(wrong);
  });

  test.each([
    ['skip_existing', { ...wrong, ...state, 'users/ada': { n: 3, extra: true } }],
    ['merge', { ...wrong, ...state, 'users/ada': { n: 2, extra: true } }],
  ])('in mode %s', async (mergeMode, expected) => {
    const done = await restore({ pointInTime: then, options: { mergeMode, safetyBackup: false } });
    expect(done.status, JSON.stringify(done.error)).toBe('completed');
    expect(await contentsOf(bench.firestore)).toEqual(expected);
    await goWrong();
  });

  test('takes single documents and collections, and what is not there fails by name', { tags: 'long' }, async () => {
    const one = await restore({ pointInTime: then, documentIds: ['users/bob'] });
    expect(one).toMatchObject({ status: 'completed', documentsRestored: 1 });
    expect((await restore({ pointInTime: then, collections: ['rooms'] })).documentsRestored).toBe(1);
    expect((await restore({ pointInTime: then, documentIds: ['users/x'] })).error.code).toBe('DOCUMENT_NOT_FOUND');
    expect((await restore({ pointInTime: then, collections: ['none'] })).error.code).toBe('COLLECTION_NOT_FOUND');
    const items = [
      { pointInTime: then, path: 'users/ada/orders/1' },
      { pointInTime: instantOf(first), path: 'users/ada' },
      { pointInTime: then, path: 'rooms/1' },
    ];
    expect(await restore({ items })).toMatchObject({ status: 'completed', documentsRestored: 3 });
    expect(await contentsOf(bench.firestore)).toMatchObject({
      'users/ada': { n: 1 },
      'users/ada/orders/1': { total: 5 },
    });
    const missing = await restore({ items: [...items, { pointInTime: then, path: 'users/x' }] });
    expect(missing.error.code).toBe('DOCUMENT_NOT_FOUND');
    const users = { projectId: bench.shop.projectId, pointInTime: then, options: { includeAuthUsers: true } };
    expect((await ask('POST', '/backups/restore', users)).body.error.code).toBe('VALIDATION_ERROR');
  });
});

test('an instant in a gap is refused everywhere with its reason and both neighbours, which can be gone to', {
  tags: 'long',
}, async () => {
  await set('users/before', { n: 1 });
  const lost = await bench.app.platform.clock.now();
  await sleep(300);
  // The database is far ahead when the stream breaks: what happened meanwhile is known only as of its end.
  bench.sandbox.control.moveClock(source, 40 * 60_000);
  bench.sandbox.control.resetListens();
  await set('users/after', { n: 1 });
  const gaps = async () => (await ask('GET', pitr())).body.data.gaps;
  await expect
    .poll(async () => (await gaps()).at(-1)?.to ?? '')
    .toSatisfy((to: string) => Date.parse(to) > lost.getTime() + 30 * 60_000);
  const gap = (await gaps()).at(-1);
  const inside = new Date((Date.parse(gap.from) + Date.parse(gap.to)) / 2).toISOString();
  const body = { projectId: bench.shop.projectId, pointInTime: inside };
  const refusals = [
    await look('collections', inside),
    await look('documents', inside),
    await look('diff', inside),
    await look('export', inside),
    await ask('GET', `/projects/${bench.shop.projectId}/documents/users/ada?at=${inside}`),
    await ask('POST', '/backups/restore', body),
  ];
  for (const { status, body: answer } of refusals) {
    expect([status, answer.error.code]).toEqual([409, 'POINT_IN_TIME_UNAVAILABLE']);
    expect(answer.error.message).toContain('lies in a gap: ');
    const { before, after } = answer.error.details;
    expect(Date.parse(before)).toBeLessThanOrEqual(Date.parse(gap.from) + 1);
    expect(Date.parse(after)).toBeLessThanOrEqual(Date.parse(gap.to));
    for (const neighbour of [before, after]) expect((await look('collections', neighbour)).status).toBe(200);
  }
});
