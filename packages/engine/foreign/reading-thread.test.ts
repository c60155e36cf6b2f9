import { once } from 'node:events';
import { expect, test } from 'vitest';
import { readInThread } from './reading-thread.ts';

const database = 'projects/p/databases/(default)';
const file = (text: string) => [new TextEncoder().encode(text)];

async function pathsOf(groups: ReturnType<typeof readInThread>): Promise<string[]> {
  const paths: string[] = [];
  for await (const records of groups) for (const { path } of records) paths.push(path);
  return paths;
}

test('two files that come drop by drop keep no third one from being read', async () => {
  const leaving = new AbortController();
  const { signal } = leaving;
  const begun: Promise<void>[] = [];
  const dripping = [1, 2].map((number) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    begun.push(promise);
    async function* drops() {
      yield* file('{"users": {"ada": ');
      resolve();
      await once(signal, 'abort');
    }
    return pathsOf(readInThread({ format: 'json', key: `drip-${number}.json`, database }, drops(), { signal }));
  });
  await Promise.all(begun);
  async function* whole() {
    yield* file('{"users": {"ada": {"name": "Ada"}}}');
  }
  expect(await pathsOf(readInThread({ format: 'json', key: 'whole.json', database }, whole(), {}))).toEqual([
    'users/ada',
  ]);
  leaving.abort();
  const ends = await Promise.allSettled(dripping);
  expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});

test('documents as large as Firestore takes are read, however many values they have; more values than that are refused', {
  tags: 'long',
}, async () => {
  const point = '{"__datatype__":"geopoint","value":{"_latitude":1.25,"_longitude":2.5}}';
  const many = (count: number, one: (at: number) => string) => Array.from({ length: count }, (_, at) => one(at)).join();
  const read = (fields: string) => {
    async function* pieces() {
      yield* file(`{"users": {"ada": {${fields}}}}`);
    }
    return pathsOf(readInThread({ format: 'json', key: 'large.json', database }, pieces(), {}));
  };
  for (const fields of [`"points": [${many(38_000, () => point)}]`, many(25_000, (at) => `"k${at}": true`)])
    expect(await read(fields)).toEqual(['users/ada']);
  const zeros = `[${'0,'.repeat(70_000)}0]`;
  await expect(read(`"a": ${zeros}, "b": ${zeros}, "c": ${zeros}`)).rejects.toMatchObject({
    code: 'VALIDATION_ERROR',
    message: expect.stringContaining('users/ada: a document has more than 200000 values'),
  });
});
