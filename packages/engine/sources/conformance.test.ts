import { afterAll, beforeAll, describe } from 'vitest';
import { type FirestoreSandbox, startFirestoreSandbox } from '../../sandbox/index.ts';
import { changeCaptureConformance } from '../conformance/change-capture.conformance.ts';
import type { DatabaseUnderTest } from '../conformance/database-under-test.ts';
import { documentSourceConformance } from '../conformance/document-source.conformance.ts';
import { documentTargetConformance } from '../conformance/document-target.conformance.ts';
import { MemoryDatabase } from '../fixtures/memory-source.ts';
import { type ForeignFirestore, foreignFirestores } from '../testing/foreign-firestore.ts';
import { connectFirestore } from './firestore/connect.ts';

let projects = 0;

/** A project nobody used before is an empty database. */
function openProject(host: string): DatabaseUnderTest {
  projects += 1;
  return connectFirestore({ projectId: `project-${projects}`, connection: { type: 'emulator', host } });
}

function openMemory(): DatabaseUnderTest {
  const database = new MemoryDatabase();
  return { source: database, target: database, capture: database, close: () => database.close() };
}

documentSourceConformance('a database in memory', async () => openMemory());
documentTargetConformance('a database in memory', async () => openMemory());
changeCaptureConformance('a database in memory', async () => openMemory());

describe('the sandbox', () => {
  let sandbox: FirestoreSandbox;
  beforeAll(async () => {
    sandbox = await startFirestoreSandbox();
  });
  afterAll(() => sandbox.stop());
  const open = async () => openProject(sandbox.address);
  documentSourceConformance('Firestore', open);
  documentTargetConformance('Firestore', open);
  changeCaptureConformance('Firestore', open);
});

describe.for(foreignFirestores)('$title', ({ name, isInstalled, start }) => {
  describe.skipIf(!isInstalled)('as far as it is installed', () => {
    let foreign: ForeignFirestore;
    beforeAll(async () => {
      foreign = await start();
    });
    afterAll(() => foreign.stop());
    const open = async () => openProject(foreign.address);
    documentSourceConformance('Firestore', open, { hasNumericIds: name !== 'fireemu' });
    documentTargetConformance('Firestore', open);
    changeCaptureConformance('Firestore', open, { tellsOfDeletesBefore: name !== 'google' });
  });
});
