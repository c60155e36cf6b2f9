import { expect, test } from 'vitest';
import { fillFast } from '../sample-data/fill-fast.ts';
import { database, fields, name, query, remove, root, set, timeOf } from './testing/fixtures.ts';
import { startForTest } from './testing/start-with-client.ts';
import { day, hour, type Micros, minuteMicros, secondMicros, timestampFrom } from './values/timestamp.ts';

const everything = { from: [{ allDescendants: true }] };

function at(time: Micros): { readTime: object } {
  return { readTime: timestampFrom(time) };
}

test('commit times grow even while the clock stands still, and reads in between see exactly the commits before', async () => {
  const { client } = await startForTest();
  const first = await set(client, 'a/1', fields({ n: 1 }));
  const second = await set(client, 'a/2', fields({ n: 1 }));
  expect(second).toBeGreaterThan(first);
  expect(await query(client, everything, at(first))).toEqual(['a/1']);
  expect(await query(client, everything, at(first - 1))).toEqual([]);
  expect(await query(client, everything, at(second))).toEqual(['a/1', 'a/2']);
});

test('every read takes a read time', async () => {
  const { client, clock } = await startForTest();
  const time = await set(client, 'a/1', fields({ n: 1 }));
  clock.micros += secondMicros;
  await remove(client, 'a/1');
  expect((await client.unary('GetDocument', { name: `${root}/a/1`, ...at(time) })).name).toBe(`${root}/a/1`);
  expect(
    (await client.unary('ListDocuments', { parent: root, collectionId: 'a', ...at(time) })).documents,
  ).toHaveLength(1);
  expect((await client.unary('ListCollectionIds', { parent: root, ...at(time) })).collectionIds).toEqual(['a']);
  expect((await client.unary('ListCollectionIds', { parent: root })).collectionIds).toEqual([]);
  const got = await client.stream('BatchGetDocuments', { database: database, documents: [`${root}/a/1`], ...at(time) });
  expect(got[0]!.found.length).toBeGreaterThan(0);
  const counted = await client.stream('RunAggregationQuery', {
    parent: root,
    structuredAggregationQuery: {
      structuredQuery: { from: [{ collectionId: 'a' }] },
      aggregations: [{ alias: 'n', count: {} }],
    },
    ...at(time),
  });
  expect([...counted[0]!.result.aggregateFields.n]).toEqual([0x10, 1]);
});

test('without recovery a read reaches one hour back and no further', async () => {
  const { client, clock } = await startForTest();
  const time = await set(client, 'a/1', fields({ n: 1 }));
  clock.micros += hour - secondMicros;
  expect(await query(client, everything, at(time))).toEqual(['a/1']);
  clock.micros += 2 * secondMicros;
  await expect(query(client, everything, at(time))).rejects.toThrow(
    'FAILED_PRECONDITION: The requested snapshot version is too old.',
  );
});

test('a read time in the future, or finer than a microsecond, is refused', async () => {
  const { client, clock } = await startForTest();
  await set(client, 'a/1', fields({ n: 1 }));
  await expect(query(client, everything, at(clock.micros + minuteMicros))).rejects.toThrow(/INVALID_ARGUMENT.*future/);
  const fine = { readTime: { ...timestampFrom(clock.micros - secondMicros), nanos: 1 } };
  await expect(query(client, everything, fine)).rejects.toThrow('INVALID_ARGUMENT');
});

test('with recovery on, whole minutes of seven days can be read, and nothing else older than an hour', async () => {
  const { sandbox, client, clock } = await startForTest();
  sandbox.control.setPointInTimeRecovery(name, true);
  await set(client, 'a/1', fields({ n: 1 }));
  const minute = Math.ceil(clock.micros / minuteMicros) * minuteMicros;
  clock.micros = minute + secondMicros;
  await set(client, 'a/2', fields({ n: 1 }));
  clock.micros += 6 * day;
  expect(await query(client, everything, at(minute))).toEqual(['a/1']);
  await expect(query(client, everything, at(minute + secondMicros))).rejects.toThrow(/INVALID_ARGUMENT.*whole minute/);
  clock.micros += day;
  await expect(query(client, everything, at(minute))).rejects.toThrow('FAILED_PRECONDITION');
});

test('recovery reaches no further back than an hour before it was switched on', async () => {
  const { sandbox, client, clock } = await startForTest();
  const early = await set(client, 'a/1', fields({ n: 1 }));
  clock.micros += 3 * hour;
  sandbox.control.setPointInTimeRecovery(name, true);
  const minute = Math.ceil(early / minuteMicros) * minuteMicros;
  await expect(query(client, everything, at(minute))).rejects.toThrow('FAILED_PRECONDITION');
});

test('versions nobody can read any more are dropped, deleted documents with them', async () => {
  const { sandbox, client, clock } = await startForTest();
  for (let n = 0; n < 10; n++) await set(client, 'a/1', fields({ n }));
  await set(client, 'a/2', fields({ n: 1 }));
  await remove(client, 'a/2');
  const database = sandbox.control.database(name);
  expect(database.versionCount).toBe(12);
  clock.micros += hour + secondMicros;
  await set(client, 'a/3', fields({ n: 1 }));
  expect(database.versionCount).toBe(2);
  expect(database.all.size).toBe(2);
});

test('moving a database’s clock ages its snapshots', async () => {
  const { sandbox, client } = await startForTest();
  const time = await set(client, 'a/1', fields({ n: 1 }));
  sandbox.control.moveClock(name, 2 * 3_600_000);
  await expect(query(client, everything, at(time))).rejects.toThrow('FAILED_PRECONDITION');
  expect(await query(client, everything)).toEqual(['a/1']);
});

test('a write that changes nothing keeps the update time', async () => {
  const { client, clock } = await startForTest();
  const first = await set(client, 'a/1', fields({ n: 1 }));
  clock.micros += secondMicros;
  await set(client, 'a/1', fields({ n: 1 }));
  const document = await client.unary('GetDocument', { name: `${root}/a/1` });
  expect(timeOf(document.updateTime)).toBe(first);
});

test('a scan that takes longer than an hour fails in the middle', async () => {
  const { sandbox, client, clock } = await startForTest();
  fillFast(sandbox.control.database(name), { collection: 'plain', documents: 20_000 });
  let received = 0;
  const stream = client.converse('RunQuery', () => {
    received += 1;
  });
  stream.pause();
  stream.send({ parent: root, structuredQuery: { from: [{ collectionId: 'plain' }] } });
  stream.end();
  await new Promise((resolve) => setTimeout(resolve, 200));
  clock.micros += hour + secondMicros;
  stream.resume();
  await expect(stream.done).rejects.toThrow('FAILED_PRECONDITION: The requested snapshot version is too old.');
  expect(received).toBeLessThan(20_000);
});

test('counts stay right when documents and their history have gone, several versions of one at a time', async () => {
  const { client, clock } = await startForTest();
  const counted = async () => {
    const [answer] = await client.stream('RunAggregationQuery', {
      parent: root,
      structuredAggregationQuery: { structuredQuery: everything, aggregations: [{ alias: 'n', count: {} }] },
    });
    return answer!.result.aggregateFields.n[1] ?? 0;
  };
  await set(client, 'a/gone', fields({ n: 1 }));
  await set(client, 'a/gone', fields({ n: 2 }));
  await remove(client, 'a/gone');
  clock.micros += 2 * hour;
  await set(client, 'a/stays', fields({ n: 1 }));
  await set(client, 'a/later', fields({ n: 1 }));
  await remove(client, 'a/later');
  expect(await counted()).toBe(1);
  await set(client, 'a/gone', fields({ n: 3 }));
  expect(await counted()).toBe(2);
});
