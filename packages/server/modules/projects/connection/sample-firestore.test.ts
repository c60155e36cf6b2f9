// @module-tag long
import { connectFirestore, everything, wholeDatabase } from '@holdfast/engine';
import { expect, test } from 'vitest';
import { loadConfig } from '../../../config.ts';
import { SampleFirestore } from './sample-firestore.ts';

test('the sample is whole when it is opened, loses its products later, and is not filled twice', async () => {
  const sample = new SampleFirestore({ accidentAfterMs: 300 });
  const named = { sourceProjectId: 'sample-shop', databaseId: '(default)' };
  const host = await sample.open(named);
  const { source, close } = connectFirestore({ projectId: 'sample-shop', connection: { type: 'emulator', host } });
  try {
    const countNow = async () => {
      const scope = { ...wholeDatabase, collections: ['products'] };
      return source.count(everything, { scope, readTime: await source.snapshotTime() });
    };
    expect(await countNow()).toBeGreaterThan(100);
    await expect.poll(countNow).toBe(0);
    expect(await sample.open(named)).toBe(host);
    expect(await countNow()).toBe(0);
  } finally {
    await close();
    await sample.close();
  }
});

test('a service of several processes has no sample, nor has one that allows no emulators', () => {
  const offers = (environment: Record<string, string>) => loadConfig(environment).offersSample;
  expect(offers({ ALLOW_EMULATOR_SOURCES: 'true' })).toBe(true);
  expect(offers({ ALLOW_EMULATOR_SOURCES: 'true', HOLDFAST_ROLES: 'api,scheduler' })).toBe(false);
  expect(offers({ ALLOW_EMULATOR_SOURCES: 'false' })).toBe(false);
});
