import { afterAll, beforeAll, expect, test } from 'vitest';
import { wholeDatabase } from '../../../ports/index.ts';
import { type FirestoreHarness, fields, startFirestoreHarness, write } from '../testing/firestore-harness.ts';
import { type CaughtUp, catchUp } from './catch-up.ts';

let bench: FirestoreHarness;
beforeAll(async () => {
  bench = await startFirestoreHarness();
});
afterAll(() => bench.stop());

test('in bounded memory, in as many passes as it takes, every change comes once and by time', async () => {
  const connected = bench.connect();
  await write(
    connected,
    ['gone/1', 'gone/2', 'same/1'].map((path) => ({ path, fields: fields(0) })),
  );
  const since = await connected.source.snapshotTime();
  const expected: string[] = [];
  for (let round = 0; round < 30; round += 1) {
    // Paths run against time, so that the oldest changes are not the first names.
    const records = [...Array(50)].map((_, index) => ({ path: `c/${99 - round}-${index}`, fields: fields(index) }));
    expected.push(...records.map(({ path }) => path));
    await write(connected, records);
  }
  await write(connected, [{ path: 'gone/1' }, { path: 'gone/2' }]);
  const at = await connected.source.snapshotTime();
  const pieces: CaughtUp[] = [];
  const seen = new Set<string>();
  const known = async function* () {
    yield* ['gone/1', 'gone/2', 'same/1'];
  };
  const onPath = (path: string) => void seen.add(path);
  const request = { scope: wholeDatabase, since, at, known, onPath, signal: undefined, changedMax: 200 };
  for await (const piece of catchUp(connected.source, request)) pieces.push(piece);
  const changes = pieces.flatMap((piece) => piece.changes);
  expect(changes.map(({ path }) => path).sort()).toEqual([...expected, 'gone/1', 'gone/2'].sort());
  expect(changes.map((change) => change.at)).toEqual(changes.map((change) => change.at).sort());
  expect(pieces.length).toBeGreaterThan(3);
  let end = since;
  for (const piece of pieces) {
    expect(piece.through > end).toBe(true);
    expect(piece.changes.every((change) => change.at > end && change.at <= piece.through)).toBe(true);
    end = piece.through;
  }
  expect(end).toBe(at);
  expect(seen.size).toBe(expected.length + 1);
});
