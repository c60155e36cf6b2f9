import { createHash } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { listenBehaviour } from './listen/behaviour.ts';
import { type FirestoreSandbox, startFirestoreSandbox } from './server.ts';
import { database, fields, ManualClock, name, remove, root, set } from './testing/fixtures.ts';
import { RawClient } from './testing/raw-client.ts';
import { collection, RecordingListener } from './testing/recording-listener.ts';
import { hour, minuteMicros, timestampFrom } from './values/timestamp.ts';

let clock: ManualClock;
let sandbox: FirestoreSandbox;
let client: RawClient;

beforeEach(async () => {
  clock = new ManualClock();
  sandbox = await startFirestoreSandbox({ clock, listenMode: 'as-production' });
  client = new RawClient(sandbox.port);
});

afterEach(async () => {
  client.close();
  await sandbox.stop();
});

/** Receives two documents; then one is deleted and one added while nobody listens. */
async function resumeToken(): Promise<Uint8Array> {
  await set(client, 'a/1', fields({ n: 1 }));
  await set(client, 'a/2', fields({ n: 1 }));
  const first = new RecordingListener(client).add(1, collection('a'));
  await first.snapshot();
  first.stream.cancel();
  clock.micros += 1_000_000;
  await set(client, 'a/3', fields({ n: 1 }));
  await remove(client, 'a/1');
  return first.token;
}

test('while the stream lives, deletions are sent', async () => {
  await set(client, 'a/1', fields({ n: 1 }));
  const listener = new RecordingListener(client).add(1, collection('a'));
  await listener.snapshot();
  await remove(client, 'a/1');
  expect(await listener.snapshot()).toEqual(['delete a/1']);
  listener.stream.cancel();
});

test('after a resume no deletion is sent, but a count instead', async () => {
  const listener = new RecordingListener(client).add(1, { ...collection('a'), resumeToken: await resumeToken() });
  expect(await listener.snapshot()).toEqual(['ADD 1', 'change a/3 1', 'filter 1 2', 'CURRENT 1']);
  expect(listener.responses.find(({ filter }) => filter)?.filter.unchangedNames).toBeFalsy();
  listener.stream.cancel();
});

test('a listener that sent its count gets a bloom filter that contains every name that still matches', async () => {
  const resume = { resumeToken: await resumeToken(), expectedCount: { value: 2 } };
  const listener = new RecordingListener(client).add(1, { ...collection('a'), ...resume });
  await listener.snapshot();
  const { bits, hashCount } = listener.responses.find(({ filter }) => filter)!.filter.unchangedNames;
  const size = BigInt(bits.bitmap.length * 8 - bits.padding);
  const mayHold = (path: string) => {
    const digest = createHash('md5').update(`${root}/${path}`).digest();
    return [...Array(hashCount).keys()].every((index) => {
      const hash = digest.readBigUInt64LE(0) + BigInt(index) * digest.readBigUInt64LE(8);
      const bit = Number(BigInt.asUintN(64, hash) % size);
      return (bits.bitmap[bit >> 3] & (1 << (bit & 7))) !== 0;
    });
  };
  expect(['a/2', 'a/3'].map(mayHold)).toEqual([true, true]);
  expect([...Array(50).keys()].some((id) => !mayHold(`a/gone-${id}`))).toBe(true);
  listener.stream.cancel();
});

test('filters can be kept back altogether', async () => {
  sandbox.control.setListenMode('as-production', { existenceFilters: 'none' });
  const listener = new RecordingListener(client).add(1, { ...collection('a'), resumeToken: await resumeToken() });
  expect(await listener.snapshot()).toEqual(['ADD 1', 'change a/3 1', 'CURRENT 1']);
  listener.stream.cancel();
});

test('a stale position runs and bills the whole query again', async () => {
  const token = await resumeToken();
  clock.micros += 31 * minuteMicros;
  sandbox.control.resetCounters();
  const listener = new RecordingListener(client).add(1, { ...collection('a'), resumeToken: token });
  expect(await listener.snapshot()).toEqual(['ADD 1', 'change a/2 1', 'change a/3 1', 'filter 1 2', 'CURRENT 1']);
  expect(sandbox.control.counters().reads).toBe(2);
  listener.stream.cancel();
});

test('a target that does not catch up is removed without a position, and the others stay', async () => {
  for (let id = 0; id < 5; id++) await set(client, `a/${id}`, fields({ n: 1 }));
  sandbox.control.setListenMode('as-production', { catchUpDocumentsMax: 3 });
  const listener = new RecordingListener(client).add(1, collection('a'));
  await expect.poll(() => listener.lines).toContain('REMOVE 1 cause 4');
  expect(listener.lines.filter((line) => line.startsWith('change'))).toHaveLength(3);
  expect(listener.token).toHaveLength(0);
  listener.add(2, collection('b'));
  await listener.snapshot();
  listener.stream.cancel();
});

test('a read time beyond the hour is refused unless it is a whole minute of a database that keeps them', async () => {
  const old = clock.micros;
  sandbox.control.setPointInTimeRecovery(name, true);
  clock.micros += 2 * hour;
  const listener = new RecordingListener(client).add(1, { ...collection('a'), readTime: timestampFrom(old + 1) });
  await expect.poll(() => listener.lines).toContain('REMOVE 1 cause 3');
  const minute = Math.ceil(old / minuteMicros) * minuteMicros;
  listener.add(2, { ...collection('a'), readTime: timestampFrom(minute) });
  await listener.snapshot();
  listener.stream.cancel();
});

test('a listener that falls too far behind is ended with RESOURCE_EXHAUSTED', async () => {
  sandbox.control.setListenMode('as-production', { bufferDocumentsMax: 2 });
  const listener = new RecordingListener(client).add(1, collection('a'));
  await listener.snapshot();
  const { writes } = { writes: [1, 2, 3].map((id) => ({ delete: `${root}/a/x${id}` })) };
  await Promise.all([1, 2, 3].map((id) => set(client, `a/x${id}`, fields({ n: 1 }))));
  await client.unary('Commit', { database, writes });
  await expect(listener.stream.done).rejects.toThrow('RESOURCE_EXHAUSTED');
});

test('streams are cut at any moment on command', async () => {
  sandbox.control.setListenMode('as-production', { cutAfterMs: [5, 30] });
  const listener = new RecordingListener(client).add(1, collection('a'));
  await expect(listener.stream.done).rejects.toThrow();
});

test('a database without real-time updates says so and refuses listeners', async () => {
  sandbox.control.setEdition(name, { edition: 'enterprise', realtimeUpdates: false });
  const listener = new RecordingListener(client).add(1, collection('a'));
  await expect(listener.stream.done).rejects.toThrow('FAILED_PRECONDITION');
  const answer = await fetch(`http://${sandbox.address}/v1/${database}`);
  expect(await answer.json()).toMatchObject({
    databaseEdition: 'ENTERPRISE',
    realtimeUpdatesMode: 'REALTIME_UPDATES_MODE_DISABLED',
  });
});

test('generous listeners have no limits', () => {
  expect(listenBehaviour('generous')).toMatchObject({ bufferDocumentsMax: Infinity, cutAfterMs: null });
});
