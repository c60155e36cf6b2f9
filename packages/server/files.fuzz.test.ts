import {
  type BlobStore,
  createLocalStore,
  type ForeignFormat,
  isEngineError,
  openChain,
  openForeignView,
  proveBackup,
  viewOfChain,
  withScratch,
} from '@holdfast/engine';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { testDatabase } from '../engine/fixtures/arbitrary-documents.ts';
import { BackupHarness } from '../engine/fixtures/backup-harness.ts';
import { FileMaker } from './testing/fuzz/file-maker.ts';
import type { HostileFile } from './testing/fuzz/hostile-files.ts';
import { inLanes, Neighbour, Outcomes } from './testing/fuzz/neighbour.ts';
import { fuzzCasesShared as fuzzCases, fuzzSeed, fuzzTimeoutMs, neighbourMsMax } from './testing/fuzz/settings.ts';
import { startTestApp, type TestApp } from './testing/test-app.ts';

/**
 * Files that were good before: our backups and their exports, managed exports, files of version 1, each with something
 * changed, cut, doubled or made absurd. Whatever is in them, reading ends with a code that says what is wrong with the
 * file.
 */

const lanes = 3;
/** Long enough for a shared machine; a hanging case takes longer. */
const caseMs = 150_000;
const codes = ['INTEGRITY_ERROR', 'VALIDATION_ERROR', 'DECRYPTION_ERROR', 'STORAGE_NOT_FOUND'];
const { keys, codec } = new BackupHarness();

let app: TestApp;
let maker: FileMaker;
beforeAll(async () => {
  app = await startTestApp({ LOG_LEVEL: 'warn' });
  maker = await FileMaker.start();
});
afterAll(async () => {
  await maker.stop();
  await app.close();
});

/** Reads the whole file as an import or a restore does. */
async function read({ format, path }: HostileFile, root: string): Promise<void> {
  const store = await createLocalStore({ root });
  try {
    if (format === 'holdfast' || format === 'sealed') await readOurs(store, path);
    else await convert(store, path, formatOf(path));
  } finally {
    await store.close();
  }
}

function formatOf(path: string): ForeignFormat {
  if (path.endsWith('.ndjson')) return 'ndjson';
  return path.endsWith('.json') ? 'json' : 'firestore-export';
}

async function convert(store: BlobStore, path: string, format: ForeignFormat): Promise<void> {
  await withScratch(async (scratch) => {
    const view = await openForeignView({ store, path, format, database: testDatabase, scratch, codec });
    for await (const _ of view.records());
  });
}

async function readOurs(store: BlobStore, backupId: string): Promise<void> {
  const chain = await openChain({ store, backupId, keys, codec });
  for (const reader of chain) await proveBackup(reader, {});
  for await (const _ of viewOfChain(chain).records());
}

/** Reads good files first, so that the normal cost of reading is not blamed on the bad ones. */
async function readGoodFiles(documents: number): Promise<void> {
  const users = Object.fromEntries(Array.from({ length: documents }, (_, at) => [`u${at}`, { name: `user ${at}` }]));
  await withScratch(async (store) => {
    await store.put('good.json', Buffer.from(JSON.stringify({ users })));
    await inLanes(2 * lanes, lanes, () => convert(store, 'good.json', 'json'));
  });
}

test(
  'whatever a file contains, reading it ends with a code that says so, and no other tenant waits',
  async () => {
    const neighbour = await Neighbour.moveIn(app);
    const outcomes = new Outcomes();
    const run = (index: number) =>
      maker.lend(fuzzSeed + index, async (file, folder) => {
        const startedAtMs = performance.now();
        const error = await read(file, folder).then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        const outcome = error === undefined ? 'done' : isEngineError(error) ? error.code : String(error);
        outcomes.add(`${file.format}: ${outcome}`);
        const isFine = (outcome === 'done' || codes.includes(outcome)) && performance.now() - startedAtMs < caseMs;
        const stack = isFine || !(error instanceof Error) ? '' : error.stack?.split('\n').slice(0, 4).join(' | ');
        if (!isFine) outcomes.faults.push(`case ${index}, ${file.format} → ${outcome} ${stack}`);
      });
    await inLanes(Math.min(fuzzCases, 12), lanes, run);
    await readGoodFiles(Math.min(20 * fuzzCases, 40_000));
    await neighbour.begin();
    await inLanes(fuzzCases, lanes, run);
    const toll = await neighbour.end();
    outcomes.report('files', toll);
    expect(outcomes.faults.slice(0, 20), `seed ${fuzzSeed}`).toEqual([]);
    expect(toll.answers).toBeGreaterThan(10);
    expect(toll.slowestMs).toBeLessThanOrEqual(neighbourMsMax);
    expect(toll.memoryGrowthMib).toBeLessThanOrEqual(300);
  },
  fuzzTimeoutMs,
);
