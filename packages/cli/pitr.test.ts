import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { firestore, holdfast, useService } from './testing.ts';

useService({ PITR_SEGMENT_SECONDS: '0.3' });

test('the past is captured, shown and brought back from the command line', async () => {
  const on = await holdfast('pitr', 'enable', 'Shop', '--retention-days', '2');
  expect(on.code, on.error).toBe(0);
  expect(on.out).toMatch(/Enabled +yes/);
  const status = async () => (await holdfast('pitr', 'status', 'Shop', '--json')).json;
  await expect.poll(async () => (await status()).status, { timeout: 40_000, interval: 500 }).toBe('running');
  await firestore.doc('people/ada').set({ born: 1815 });
  await expect.poll(async () => (await status()).collections.length, { timeout: 30_000, interval: 500 }).toBe(1);
  await sleep(1500);
  const before = new Date().toISOString();
  await sleep(100);
  await firestore.doc('people/ada').delete();
  const versions = async () => (await holdfast('pitr', 'history', 'Shop', 'people/ada', '--json')).json;
  await expect.poll(async () => (await versions()).length, { timeout: 30_000, interval: 500 }).toBe(2);
  expect((await holdfast('pitr', 'history', 'Shop', 'people/ada')).out).toMatch(/Z {2}deleted\n.*"born"/);
  const restored = await holdfast('pitr', 'restore', 'Shop', '--at', before, '--documents', 'people/ada', '--wait');
  expect(restored.code, restored.error).toBe(0);
  expect((await firestore.doc('people/ada').get()).data()).toEqual({ born: 1815 });
  const refused = await holdfast('pitr', 'restore', 'Shop', '--at', '300 days ago');
  expect(refused.error).toContain('POINT_IN_TIME_UNAVAILABLE');
  const off = await holdfast('pitr', 'disable', 'Shop', '--delete-log', '--yes', '--json');
  expect(off.json).toMatchObject({ enabled: false, status: 'stopped' });
});
