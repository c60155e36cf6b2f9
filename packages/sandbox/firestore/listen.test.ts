import { expect, test } from 'vitest';
import { startFirestoreSandbox } from './server.ts';
import { database, fields, name, remove, root, set, timeOf } from './testing/fixtures.ts';
import { RawClient } from './testing/raw-client.ts';
import { collection, RecordingListener } from './testing/recording-listener.ts';
import { startForTest } from './testing/start-with-client.ts';
import { hour, secondMicros, timestampFrom } from './values/timestamp.ts';

test('a listener gets the present documents, then every change', async () => {
  const { client } = await startForTest();
  await set(client, 'a/1', fields({ n: 1 }));
  const listener = new RecordingListener(client).add(1, collection('a'));
  expect(await listener.snapshot()).toEqual(['ADD 1', 'change a/1 1', 'CURRENT 1']);
  await set(client, 'a/2', fields({ n: 1 }));
  expect(await listener.snapshot()).toEqual(['change a/2 1']);
  await remove(client, 'a/1');
  expect(await listener.snapshot()).toEqual(['delete a/1']);
  listener.stream.cancel();
});

test('a document that stops matching is removed, and one message covers all its targets', async () => {
  const { client } = await startForTest();
  const even = { where: { fieldFilter: { field: { fieldPath: 'even' }, op: 5, value: Buffer.from([0x10, 1]) } } };
  const listener = new RecordingListener(client).add(1, collection('a')).add(2, collection('a', even));
  await listener.snapshot();
  await listener.snapshot();
  await set(client, 'a/1', fields({ even: 1 }));
  expect(await listener.snapshot()).toEqual(['change a/1 1 2']);
  await set(client, 'a/1', fields({ even: 0 }));
  expect(await listener.snapshot()).toEqual(['change a/1 1 -2']);
  listener.stream.send({ database: database, removeTarget: 1 });
  await set(client, 'a/1', fields({ even: 1 }));
  await listener.snapshot();
  await set(client, 'a/1', fields({ even: 3 }));
  expect(await listener.snapshot()).toEqual(['remove a/1']);
  listener.stream.cancel();
});

test('documents are listened to by name, whether they exist or not', async () => {
  const { client } = await startForTest();
  const listener = new RecordingListener(client).add(7, { documents: { documents: [`${root}/a/1`] } });
  expect(await listener.snapshot()).toEqual(['ADD 7', 'delete a/1', 'CURRENT 7']);
  await set(client, 'a/1', fields({ n: 1 }));
  expect(await listener.snapshot()).toEqual(['change a/1 7']);
  listener.stream.cancel();
});

test('a limited query lets the next document in when one leaves', async () => {
  const { client } = await startForTest();
  for (const id of ['1', '2', '3']) await set(client, `a/${id}`, fields({ n: 1 }));
  const listener = new RecordingListener(client).add(1, collection('a', { limit: { value: 2 } }));
  expect(await listener.snapshot()).toEqual(['ADD 1', 'change a/1 1', 'change a/2 1', 'CURRENT 1']);
  await remove(client, 'a/1');
  expect((await listener.snapshot()).sort()).toEqual(['change a/3 1', 'delete a/1']);
  listener.stream.cancel();
});

test('a resume token brings exactly what happened in between', async () => {
  const { client, clock } = await startForTest();
  await set(client, 'a/1', fields({ n: 1 }));
  await set(client, 'a/2', fields({ n: 1 }));
  const first = new RecordingListener(client).add(1, collection('a'));
  await first.snapshot();
  first.stream.cancel();
  clock.micros += secondMicros;
  await set(client, 'a/3', fields({ n: 1 }));
  await remove(client, 'a/1');
  const second = new RecordingListener(client).add(1, { ...collection('a'), resumeToken: first.token });
  expect((await second.snapshot()).sort()).toEqual(['ADD 1', 'CURRENT 1', 'change a/3 1', 'delete a/1']);
  second.stream.cancel();
});

test('listening can start at a read time', async () => {
  const { client } = await startForTest();
  const time = await set(client, 'a/1', fields({ n: 1 }));
  await set(client, 'a/2', fields({ n: 1 }));
  const listener = new RecordingListener(client).add(1, { ...collection('a'), readTime: timestampFrom(time) });
  expect(await listener.snapshot()).toEqual(['ADD 1', 'change a/2 1', 'CURRENT 1']);
  listener.stream.cancel();
});

test('a token that is too old resets the target and sends everything again', async () => {
  const { client, clock } = await startForTest();
  await set(client, 'a/1', fields({ n: 1 }));
  const first = new RecordingListener(client).add(1, collection('a'));
  await first.snapshot();
  first.stream.cancel();
  clock.micros += 2 * hour;
  const second = new RecordingListener(client).add(1, { ...collection('a'), resumeToken: first.token });
  expect(await second.snapshot()).toEqual(['ADD 1', 'RESET 1', 'change a/1 1', 'CURRENT 1']);
  second.stream.cancel();
});

test('an existence filter is sent when the listener’s count is wrong', async () => {
  const { client } = await startForTest();
  const time = await set(client, 'a/1', fields({ n: 1 }));
  const resume = { ...collection('a'), readTime: timestampFrom(time) };
  const right = new RecordingListener(client).add(1, { ...resume, expectedCount: { value: 1 } });
  expect(await right.snapshot()).toEqual(['ADD 1', 'CURRENT 1']);
  const wrong = new RecordingListener(client).add(1, { ...resume, expectedCount: { value: 5 } });
  expect(await wrong.snapshot()).toEqual(['ADD 1', 'filter 1 1', 'CURRENT 1']);
  right.stream.cancel();
  wrong.stream.cancel();
});

test('a kindless query is refused, and the stream’s other targets stay', async () => {
  const { client } = await startForTest();
  const listener = new RecordingListener(client).add(1, collection('a'));
  await listener.snapshot();
  listener.add(2, { query: { parent: root, structuredQuery: { from: [{ allDescendants: true }] } } });
  await expect.poll(() => listener.lines).toContain('REMOVE 2 cause 3');
  await set(client, 'a/1', fields({ n: 1 }));
  expect(await listener.snapshot()).toContain('change a/1 1');
  listener.stream.cancel();
});

test('on command every listener is reset', async () => {
  const { sandbox, client } = await startForTest();
  await set(client, 'a/1', fields({ n: 1 }));
  const listener = new RecordingListener(client).add(1, collection('a'));
  await listener.snapshot();
  sandbox.control.resetListens();
  expect(await listener.snapshot()).toEqual(['RESET 1', 'change a/1 1', 'CURRENT 1']);
  listener.stream.cancel();
});

test('a collection group is listened to across its parents', async () => {
  const { client } = await startForTest();
  const group = {
    query: { parent: root, structuredQuery: { from: [{ collectionId: 'orders', allDescendants: true }] } },
  };
  const listener = new RecordingListener(client).add(1, group);
  await listener.snapshot();
  await set(client, 'users/a/orders/1', fields({ n: 1 }));
  expect(await listener.snapshot()).toEqual(['change users/a/orders/1 1']);
  listener.stream.cancel();
});

test('a quiet stream regularly says that nothing has happened so far', async () => {
  const { clock } = await startForTest();
  const quick = await startFirestoreSandbox({ clock, listenHeartbeatMs: 50 });
  const times: number[] = [];
  const caller = new RawClient(quick.port);
  const stream = caller.converse('Listen', ({ targetChange }) => {
    if (targetChange?.targetIds.length === 0) times.push(timeOf(targetChange.readTime));
  });
  stream.send({ database: database, addTarget: { targetId: 1, ...collection('a') } });
  await expect.poll(() => times.length).toBeGreaterThan(0);
  clock.micros += secondMicros;
  await expect.poll(() => times.at(-1)).toBe(clock.micros);
  caller.destroy();
  await quick.stop();
});

test('a stream broken after n documents ends there', async () => {
  const { sandbox, client } = await startForTest();
  for (let id = 0; id < 5; id++) await set(client, `a/${id}`, fields({ n: 1 }));
  sandbox.control.addFault({ method: 'Listen', breakAfterDocuments: 3, times: 1 });
  const listener = new RecordingListener(client).add(1, collection('a'));
  await expect(listener.stream.done).rejects.toThrow('UNAVAILABLE');
  expect(listener.lines.filter((line) => line.startsWith('change'))).toHaveLength(3);
  expect(sandbox.control.database(name).commitListeners.size).toBe(0);
});
