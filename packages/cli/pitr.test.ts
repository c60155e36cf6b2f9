// @module-tag long
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { firestore, holdfast, useService } from './testing.ts';

useService({ PITR_SEGMENT_SECONDS: '0.3' });

test('the past is captured, shown and restored from the command line', async () => {
  const on = await holdfast('pitr', 'enable', 'Shop', '--retention-days', '1');
  expect(on.code, on.error).toBe(0);
  expect(on.out).toMatch(/Enabled +yes/);
  expect(on.out).toMatch(/Kept for +1 day\n/);
  const status = async () => (await holdfast('pitr', 'status', 'Shop', '--json')).json;
  await expect.poll(async () => (await status()).status, { interval: 500 }).toBe('running');
  await firestore.doc('people/ada').set({ born: 1815 });
  await expect.poll(async () => (await status()).collections.length, { interval: 500 }).toBe(1);
  await sleep(1500);
  const before = new Date().toISOString();
  await sleep(100);
  await firestore.doc('people/ada').delete();
  const versions = async () => (await holdfast('pitr', 'history', 'Shop', 'people/ada', '--json')).json;
  await expect.poll(async () => (await versions()).length, { interval: 500 }).toBe(2);
  expect((await holdfast('pitr', 'history', 'Shop', 'people/ada')).out).toMatch(/Z {2}deleted\n.*"born"/);
  const newest = await holdfast('pitr', 'history', 'Shop', 'people/ada', '--limit', '1', '--json');
  expect([newest.json.length, newest.error]).toEqual([1, '… more with a larger --limit\n']);
  const restored = await holdfast('pitr', 'restore', 'Shop', '--at', before, '--documents', 'people/ada', '--wait');
  expect(restored.code, restored.error).toBe(0);
  expect((await firestore.doc('people/ada').get()).data()).toEqual({ born: 1815 });
  const at = ['--at', before];
  expect((await holdfast('pitr', 'browse', 'Shop', ...at)).out).toMatch(/people +1/);
  expect((await holdfast('pitr', 'browse', 'Shop', 'people', ...at, '--json')).json.documents).toHaveLength(1);
  expect((await holdfast('pitr', 'get', 'Shop', 'people/ada', ...at, '--json')).json.fields).toMatchObject({
    born: { integerValue: '1815' },
  });
  const exported = await holdfast('pitr', 'export', 'Shop', ...at, '--collection', 'people');
  expect(JSON.parse(exported.out).name).toMatch(/people\/ada$/);
  await firestore.doc('people/bob').set({ born: 1900 });
  const diff = await holdfast('pitr', 'diff', 'Shop', ...at, '--collection', 'people');
  expect([diff.code, diff.out]).toEqual([8, expect.stringContaining('+ people/bob')]);
  const moments = await holdfast('pitr', 'diff', 'Shop', before, ...at, '--json');
  expect([moments.code, moments.json]).toEqual([0, { summary: { added: 0, removed: 0, changed: 0 } }]);
  const missing = [
    ['history', 'Shop', 'people/nobody'],
    ['history', 'Nothing', 'people/ada'],
    ['status', 'Nothing'],
    ['browse', 'Shop', 'nowhere', ...at],
    ['get', 'Shop', 'people/nobody', ...at],
    ['export', 'Shop', '--collection', 'nowhere', ...at],
    ['diff', 'Shop', 'bkp_nothing', ...at],
    ['diff', 'Shop', '--collection', 'nowhere', ...at],
    ['restore', 'Shop', '--documents', 'people/nobody', '--wait', ...at],
    ['restore', 'Shop', '--collections', 'nowhere', '--wait', ...at],
    ['restore', 'Shop', '--collections', 'nowhere', '--dry-run', ...at],
    ['restore', 'Shop', '--target', 'Nothing', ...at],
  ];
  for (const words of missing) expect((await holdfast('pitr', ...words)).code, words.join(' ')).toBe(5);
  const refused = await holdfast('pitr', 'restore', 'Shop', '--at', '300 days ago');
  expect(refused.error).toContain('POINT_IN_TIME_UNAVAILABLE');
  const off = await holdfast('pitr', 'disable', 'Shop', '--delete-log', '--yes', '--json');
  expect(off.json).toMatchObject({ enabled: false, status: 'stopped' });
});
