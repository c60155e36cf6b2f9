import { once } from 'node:events';
import { expect, test } from 'vitest';
import { readInThread } from './reading-thread.ts';

const database = 'projects/p/databases/(default)';
const file = (text: string) => [new TextEncoder().encode(text)];

async function pathsOf(records: ReturnType<typeof readInThread>): Promise<string[]> {
  const paths: string[] = [];
  for await (const { path } of records) paths.push(path);
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
}, 20_000);
