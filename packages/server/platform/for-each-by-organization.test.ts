import { expect, test } from 'vitest';
import { forEachByOrganization } from './for-each-by-organization.ts';

const items = (organizationId: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({ organizationId, name: `${organizationId}${index}` }));

test('a failing or endless item of one organization does not stop the items of others', async () => {
  const done: string[] = [];
  const failed: string[] = [];
  let letGo = () => {};
  const stuck = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const running = forEachByOrganization(
    [...items('slow', 500), ...items('broken', 2), ...items('good', 3)],
    new AbortController().signal,
    async ({ organizationId, name }) => {
      if (organizationId === 'slow') await stuck;
      if (organizationId === 'broken') throw new Error('always');
      done.push(name);
    },
    (_error, { name }) => failed.push(name),
  );
  await expect.poll(() => done.toSorted()).toEqual(['good0', 'good1', 'good2']);
  expect(failed.toSorted()).toEqual(['broken0', 'broken1']);
  letGo();
  await running;
  expect(done).toHaveLength(503);
});

test('a run ends although everything of one organization hangs, and another run handles its other items', async () => {
  const tried = new Set<string>();
  const run = () =>
    forEachByOrganization(
      items('hanging', 100),
      new AbortController().signal,
      (item, signal) => {
        tried.add(item.name);
        return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      },
      () => undefined,
      20,
    );
  for (let runs = 0; runs < 10; runs++) await run();
  expect(tried.size).toBeGreaterThan(1);
  expect(tried.size).toBeLessThan(100);
});

test('an organization has one item in progress at a time, and nothing begins after the abort', async () => {
  const ending = new AbortController();
  let [underWay, most, count] = [0, 0, 0];
  await forEachByOrganization(
    items('one', 50),
    ending.signal,
    async () => {
      most = Math.max(most, ++underWay);
      await Promise.resolve();
      underWay -= 1;
      if (++count === 10) ending.abort();
    },
    () => undefined,
  );
  expect([most, count]).toEqual([1, 10]);
});
