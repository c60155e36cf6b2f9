// @module-tag long
import { type FirestoreSandbox, startFirestoreSandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runMomentsModel } from './testing/model/moments.ts';
import { type ModelService, startModelService } from './testing/model/world.ts';

/**
 * The same few histories each time, so that a failure is caused by a change; `npm run chaos -- moments` looks for new
 * ones.
 */
const settings = { runs: 1, seed: 336 };

let sandbox: FirestoreSandbox;
let service: ModelService;
beforeAll(async () => {
  sandbox = await startFirestoreSandbox({ listenMode: 'as-production', listenHeartbeatMs: 50 });
  service = await startModelService({ address: sandbox.address, sandbox }, {}, { PITR_SEGMENT_SECONDS: '0.1' });
});
afterAll(async () => {
  await service.close();
  await sandbox.stop();
});

test('a restore of any moment, in part, elsewhere, cancelled, resumed or undone: it brings back what was there, and nothing else changes', async () => {
  expect(await runMomentsModel(service, settings)).toEqual([]);
});
