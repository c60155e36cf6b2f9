import { afterAll, beforeAll, expect, test } from 'vitest';
import { everything, instantFromParts, wholeDatabase } from '../../../ports/index.ts';
import { type FirestoreHarness, fields, startFirestoreHarness, write } from '../testing/firestore-harness.ts';
import { type CaughtUp, catchUp } from './catch-up.ts';
import { type NameAndTime, namesOf } from './group-scan.ts';

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
    yield* ['gone/1', 'gone/2', 'same/1'].map((path) => ({ path, at: instantFromParts(0, 0) }));
  };
  const onPath = (path: string) => void seen.add(path);
  const knowsAll = () => true;
  const request = { scope: wholeDatabase, since, at, known, knowsAll, onPath, signal: undefined, changedMax: 200 };
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

test('documents that nobody knew come with the first piece, also when they are older than what is known', async () => {
  const connected = bench.connect({ projectId: 'missed' });
  await write(connected, [
    { path: 'c/known', fields: fields(1) },
    { path: 'c/known/hidden/1', fields: fields(1) },
  ]);
  const since = await connected.source.snapshotTime();
  for (let index = 0; index < 6; index += 1) await write(connected, [{ path: `c/${index}`, fields: fields(1) }]);
  const at = await connected.source.snapshotTime();
  const caughtUp = async (knowsAll: boolean) => {
    const known = async function* () {
      yield { path: 'c/known', at: instantFromParts(0, 0) };
    };
    const request = { scope: wholeDatabase, since, at, known, onPath: () => {}, signal: undefined, changedMax: 2 };
    const pieces: string[][] = [];
    for await (const { changes } of catchUp(connected.source, { ...request, knowsAll: () => knowsAll }))
      pieces.push(changes.map(({ path }) => path));
    return pieces;
  };
  const pieces = await caughtUp(true);
  expect(pieces.length).toBeGreaterThan(1);
  expect(pieces[0]![0]).toBe('c/known/hidden/1');
  expect(pieces.flat().sort()).toEqual(['c/0', 'c/1', 'c/2', 'c/3', 'c/4', 'c/5', 'c/known/hidden/1']);
  // Without knowledge of all names nothing can be told to have been missed.
  expect((await caughtUp(false)).flat()).not.toContain('c/known/hidden/1');
});

test('a document that is older than the known one shows that the database was set back: nothing is believed', async () => {
  const connected = bench.connect({ projectId: 'set-back' });
  await write(connected, [{ path: 'c/1', fields: fields(1) }]);
  await write(connected, [{ path: 'c/2', fields: fields(1) }]);
  const since = await connected.source.snapshotTime();
  const at = await connected.source.snapshotTime();
  const caughtUp = async (known: NameAndTime[]) => {
    const request = { scope: wholeDatabase, since, at, knowsAll: () => true, onPath: () => {}, signal: undefined };
    const pieces: CaughtUp[] = [];
    const given = async function* () {
      yield* known;
    };
    for await (const piece of catchUp(connected.source, { ...request, known: given })) pieces.push(piece);
    return pieces.map(({ changes, deletionsLost }) => ({ paths: changes.map(({ path }) => path), deletionsLost }));
  };
  const names: NameAndTime[] = [];
  for await (const batch of connected.source.scan(everything, { scope: wholeDatabase, readTime: at, namesOnly: true }))
    names.push(...namesOf(batch));
  const [one, two] = names;
  expect(await caughtUp([one!, two!])).toEqual([{ paths: [], deletionsLost: false }]);
  expect(await caughtUp([{ ...one!, at: two!.at }, two!])).toEqual([{ paths: [], deletionsLost: true }]);
  // The other way round something was missed, and comes now.
  expect(await caughtUp([one!, { ...two!, at: one!.at }])).toEqual([{ paths: ['c/2'], deletionsLost: false }]);
});
