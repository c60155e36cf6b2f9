import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CapturedBench, startCapturedBench } from '../../../testing/pitr-bench.ts';

let captured: CapturedBench;
beforeAll(async () => {
  captured = await startCapturedBench();
});
afterAll(() => captured.close());

test('an organization opens sixteen views of past moments at a time, and more when these are closed', async () => {
  const at = await captured.capturedWith('ada');
  const answers = await Promise.all(Array.from({ length: 40 }, () => captured.usersAt(at)));
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThan(0);
  for (const { status, body } of refused) expect([status, body.error.code]).toEqual([429, 'RATE_LIMITED']);
  const shown = answers.filter(({ status }) => status === 200);
  expect(shown.length).toBeGreaterThanOrEqual(16);
  expect(shown.length + refused.length).toBe(answers.length);
  expect(await captured.usersAt(at)).toMatchObject({ status: 200, body: { data: [{ path: 'users/ada' }] } });
});
