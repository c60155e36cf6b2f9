import { expect, test } from 'vitest';
import { shareJobQueries } from './shared-job-queries.ts';

const query = 'WITH next AS (SELECT 1 FOR UPDATE SKIP LOCKED) UPDATE job';

/** A database that answers when the test says so. */
function slowDatabase() {
  const asked: ((rows: unknown[] | Error) => void)[] = [];
  const execute = (_text: string, _values?: unknown[]) =>
    new Promise<{ rows: unknown[] }>((resolve, reject) => {
      asked.push((rows) => (rows instanceof Error ? reject(rows) : resolve({ rows })));
    });
  const answer = async (rows: unknown[] | Error) => {
    await expect.poll(() => asked.length, { interval: 1 }).toBeGreaterThan(0);
    asked.shift()?.(rows);
  };
  return { asked, answer, execute: shareJobQueries(execute) };
}

test('places that ask at once need one query when there is nothing, and one more per job', async () => {
  const { asked, answer, execute } = slowDatabase();
  const queries = Promise.all([1, 2, 3, 4].map(() => execute(query)));
  await answer(['a job']);
  await answer(['another job']);
  await answer([]);
  expect((await queries).map(({ rows }) => rows)).toEqual([['a job'], ['another job'], [], []]);
  expect(asked).toHaveLength(0);
});

test('a query that was already running does not answer a later question, because a job may have come since', async () => {
  const { answer, asked, execute } = slowDatabase();
  const first = execute(query);
  await expect.poll(() => asked.length, { interval: 1 }).toBe(1);
  const second = execute(query);
  await answer([]);
  await answer(['a job']);
  expect((await first).rows).toEqual([]);
  expect((await second).rows).toEqual(['a job']);
});

test('a failure reaches everybody who shared the query, and the next one asks again', async () => {
  const { answer, execute } = slowDatabase();
  const queries = Promise.allSettled([execute(query), execute(query)]);
  await answer(new Error('away'));
  expect((await queries).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  const next = execute(query);
  await answer(['a job']);
  expect((await next).rows).toEqual(['a job']);
});

test('different queries, and other statements, do not wait for each other', async () => {
  const { asked, execute } = slowDatabase();
  void execute(query, ['one kind']);
  void execute(query, ['another kind']);
  void execute('select 1');
  void execute('select 1');
  await expect.poll(() => asked.length, { interval: 1 }).toBe(4);
});
