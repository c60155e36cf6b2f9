import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CapturedBench, startCapturedBench } from '../../../testing/pitr-bench.ts';

const mebibyte = 1024 * 1024;
const versionsWritten = 12;

let captured: CapturedBench;
beforeAll(async () => {
  captured = await startCapturedBench();
});
afterAll(() => captured.close());

const historyOf = (document: string, more = '') =>
  captured.ask('GET', `/history?document=${document}&limit=200${more}`);

test('a page of large versions ends where the next would not fit, and the cursor goes on there', async () => {
  await expect.poll(async () => (await captured.shown()).status).toBe('running');
  for (let n = 0; n < versionsWritten; n++) {
    await captured.bench.firestore.doc('users/large').set({ n, text: 'x'.repeat(0.9 * mebibyte) });
    await sleep(20);
    const written = Date.now();
    // A listener tells two quick versions as one.
    await expect.poll(async () => Date.parse((await captured.shown()).coveredTo ?? 0)).toBeGreaterThan(written);
  }
  const seen: string[] = [];
  let pages = 0;
  for (let cursor: string | null = ''; cursor !== null; pages++) {
    const { status, text, body } = await historyOf('users/large', cursor && `&cursor=${cursor}`);
    expect(status, text.slice(0, 300)).toBe(200);
    expect(text.length).toBeLessThan(10 * mebibyte);
    for (const { fields } of body.data) seen.push(fields.n.integerValue);
    cursor = body.pagination.nextCursor;
  }
  expect(pages).toBe(2);
  expect(seen).toEqual(Array.from({ length: versionsWritten }, (_, n) => String(versionsWritten - 1 - n)));
});
