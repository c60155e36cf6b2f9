// @module-tag long
import { createHash } from 'node:crypto';
import { encodeDocument } from '@holdfast/engine';
import { expect, test } from 'vitest';
import { Comparison, type Document } from './compare-documents.ts';
import { drillThread } from './drill-thread.ts';

const isOpen = (address: string) =>
  fetch(`http://${address}/`).then(
    () => true,
    () => false,
  );

test('scratch databases answer from a thread that this one does not have to wait for, each at its own address', async () => {
  const [first, second] = await Promise.all([drillThread.open(), drillThread.open()]);
  expect(first.address).not.toBe(second.address);
  await drillThread.clear(first.scratch, { project: 'shop', database: '(default)' });
  await drillThread.close(first.scratch);
  expect(await isOpen(first.address)).toBe(false);
  expect(await isOpen(second.address)).toBe(true);
  await drillThread.close(second.scratch);
  const third = await drillThread.open();
  expect(await isOpen(third.address)).toBe(true);
  await drillThread.close(third.scratch);
});

const documentAt = (path: string, n: number, isAsCreated = true): Document => {
  const name = `projects/shop/databases/(default)/documents/${path}`;
  const fields = { n: { integerValue: String(n) } };
  return { path, body: encodeDocument({ name, fields, createTime: at, updateTime: at }), isAsCreated };
};
const at = '2026-01-02T03:04:05Z';

async function* each<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items;
}

const digestOf = (...lines: string[]) => createHash('sha256').update(lines.join('')).digest('hex');

test('documents are compared there, more than fit into a piece, and the digests are what anybody can compute', async () => {
  const paths = Array.from({ length: 300 }, (_, index) => `a/${1000 + index}`);
  const found = paths.filter((path) => path !== 'a/1007').map((path) => documentAt(path, path === 'a/1200' ? 2 : 1));
  found.push(documentAt('b/1', 1));
  const { comparison, digests } = await drillThread.comparing(async (thread) => {
    const comparison = new Comparison(thread);
    await comparison.add(each(paths.map((path) => documentAt(path, 1))), each(found));
    return { comparison, digests: await comparison.digests() };
  });
  expect(comparison).toMatchObject({ matched: 298, differences: 3, othersWrites: 1 });
  expect(comparison.sample).toEqual([
    { path: 'a/1007', kind: 'missing' },
    { path: 'a/1200', kind: 'different' },
    { path: 'b/1', kind: 'unexpected' },
  ]);
  const line = (path: string, n: number) => `${path}\0{"n":{"integerValue":"${n}"}}\n`;
  expect(digests).toEqual({
    sha256Expected: digestOf(...paths.map((path) => line(path, 1))),
    sha256Restored: digestOf(
      ...paths.filter((path) => path !== 'a/1007').map((path) => line(path, path === 'a/1200' ? 2 : 1)),
      line('b/1', 1),
    ),
  });
});

test('a comparison that the thread has lost is not continued from the middle', async () => {
  const lost = await drillThread.comparing(async (thread) => new Comparison(thread));
  await expect(lost.add(each([documentAt('a/1', 1)]), each([]))).rejects.toThrow('ended');
});
