// @module-tag long
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type ForeignFirestore,
  isForeignFirestoreInstalled,
  startForeignFirestore,
} from '../engine/testing/foreign-firestore.ts';
import { runModel } from './testing/model/run-model.ts';
import { type ModelService, startModelService } from './testing/model/world.ts';

/** `npm run chaos -- model --foreign fireemu` runs more and different histories. */
describe.skipIf(!isForeignFirestoreInstalled)('with a Firestore of another implementation', () => {
  let foreign: ForeignFirestore;
  let service: ModelService;
  beforeAll(async () => {
    foreign = await startForeignFirestore();
    service = await startModelService(foreign);
  });
  afterAll(async () => {
    await service?.close();
    await foreign?.stop();
  });

  test('with any actions in any order, the promises of backups, restores and undos hold', async () => {
    expect(await runModel(service, { runs: 2, seed: 9001 })).toEqual([]);
  });
});
