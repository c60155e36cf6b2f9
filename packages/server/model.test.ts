import { type FirestoreSandbox, startFirestoreSandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runModel } from './testing/model/run-model.ts';
import { type ModelService, startModelService } from './testing/model/world.ts';

/**
 * The same few histories each time, so that a failure is caused by a change; `npm run chaos -- model` looks for new
 * ones.
 */
const settings = { runs: 3, seed: 13 };

let sandbox: FirestoreSandbox;
let service: ModelService;
beforeAll(async () => {
  sandbox = await startFirestoreSandbox();
  service = await startModelService({ address: sandbox.address, sandbox });
});
afterAll(async () => {
  await service.close();
  await sandbox.stop();
});

test('with any actions in any order: nothing outside a scope changes, an undo is exact, every backup shows its moment, and what is not ours is not touched', async () => {
  expect(await runModel(service, settings)).toEqual([]);
});
