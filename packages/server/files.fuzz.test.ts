import {
  type BlobStore,
  createMemoryStore,
  isEngineError,
  openChain,
  openForeignView,
  proveBackup,
  viewOfChain,
  withScratch,
} from '@holdfast/engine';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { arbitraryDatabase, arbitraryFields, testDatabase } from '../engine/fixtures/arbitrary-documents.ts';
import { BackupHarness } from '../engine/fixtures/backup-harness.ts';
import { levelDbLog, writeManagedExport } from '../engine/fixtures/managed-export-writer.ts';
import { MemoryDatabase } from '../engine/fixtures/memory-source.ts';
import { ManifestObject, manifestContent, sealManifest } from '../engine/format/manifest-object.ts';
import { inLanes, Neighbour, Outcomes } from './testing/fuzz/neighbour.ts';
import { fuzzCasesShared as fuzzCases, fuzzSeed, fuzzTimeoutMs, neighbourMsMax } from './testing/fuzz/settings.ts';
import { startTestApp, type TestApp } from './testing/test-app.ts';

/**
 * Backup files that were good once: backups of ours, managed exports, files of version 1, each with something changed, cut,
 * doubled or made absurd. Whatever is in them: reading ends, with a code that says what is wrong with the file.
 */

const lanes = 3;
const caseMs = 60_000;
const codes = ['INTEGRITY_ERROR', 'VALIDATION_ERROR', 'DECRYPTION_ERROR', 'STORAGE_NOT_FOUND'];
const absurd: Record<string, () => string> = {
  digits: () => `{"users":{"ada":{"n":${'9'.repeat(4_000_000)}}}}`,
  deep: () => `{"users":{"ada":${'{"a":'.repeat(500_000)}`,
  'deep arrays': () => `{"users":{"ada":{"n":${'['.repeat(500_000)}`,
  nodes: () => `{"users":{"ada":{"n":[${'0,'.repeat(1_500_000)}0]}}}`,
  keys: () => `{"users":{"ada":{${Array.from({ length: 300_000 }, (_, at) => `"k${at}":0`).join()}}}}`,
  documents: () => `{"users":{${Array.from({ length: 50_000 }, (_, at) => `"d${at}":{}`).join()}}}`,
  text: () => `{"users":{"ada":{"n":"${'x'.repeat(6_000_000)}"}}}`,
  spaces: () => `{"users":${' '.repeat(4_000_000)}{}}`,
};

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ LOG_LEVEL: 'warn' });
});
afterAll(() => app.close());

/** Where, and what is done there: bytes are changed, cut away, doubled, or others put in. */
const arbitraryHarm = fc.record({
  file: fc.nat(),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  length: fc.oneof(fc.constantFrom(1, 2, 4, 7, 8, 4096), fc.nat({ max: 300 })),
  how: fc.constantFrom('flip', 'cut', 'end', 'double', 'put', 'zero', 'swap', 'remove', 'empty'),
  bytes: fc.uint8Array({ minLength: 1, maxLength: 40 }),
});
type Harm = typeof arbitraryHarm extends fc.Arbitrary<infer One> ? One : never;

function harmed(bytes: Uint8Array, { at, length, how, bytes: others }: Harm): Uint8Array {
  const from = Math.floor(at * bytes.length);
  const [before, inside, after] = [bytes.slice(0, from), bytes.slice(from, from + length), bytes.slice(from + length)];
  if (how === 'flip') return Buffer.concat([before, inside.map((byte) => byte ^ 0x55), after]);
  if (how === 'cut') return Buffer.concat([before, after]);
  if (how === 'end') return before;
  if (how === 'double') return Buffer.concat([before, inside, inside, after]);
  if (how === 'put') return Buffer.concat([before, others, inside, after]);
  return how === 'zero' ? Buffer.concat([before, inside.fill(0), after]) : new Uint8Array(0);
}

async function harm(store: BlobStore, harms: readonly Harm[]): Promise<void> {
  for (const one of harms) {
    const keys: string[] = [];
    for await (const { key } of store.list('')) keys.push(key);
    const key = keys[one.file % keys.length];
    if (key === undefined) return;
    const other = keys[(one.file + 1) % keys.length] as string;
    if (one.how === 'remove') await store.delete([key]);
    else if (one.how === 'swap') await store.put(key, await store.get(other));
    else await store.put(key, harmed(await store.get(key), one));
  }
}

const arbitraryCase = fc.record({
  format: fc.oneof(
    { weight: 14, arbitrary: fc.constantFrom('holdfast', 'sealed', 'firestore-export', 'records', 'json') },
    { weight: 1, arbitrary: fc.constant('absurd') },
  ),
  documents: fc.array(arbitraryFields, { minLength: 1, maxLength: 5 }),
  harms: fc.array(arbitraryHarm, { minLength: 1, maxLength: 3 }),
  rubbish: fc.jsonValue({ maxDepth: 4 }),
  which: fc.nat(),
});
type Case = typeof arbitraryCase extends fc.Arbitrary<infer One> ? One : never;

/** Reads the whole file as an import or a restore does. */
async function read(one: Case, seed: number): Promise<void> {
  const { format, documents, harms } = one;
  if (format === 'holdfast' || format === 'sealed') return readOurs(one, seed);
  const store = createMemoryStore();
  const paths = documents.map((fields, index) => ({ path: `users/${index}`, fields }));
  if (format === 'json') {
    const plain = Object.fromEntries(paths.map(({ path, fields }) => [path, { data: fields, collections: {} }]));
    await store.put('file.json', Buffer.from(JSON.stringify({ users: plain, more: one.rubbish })));
    await harm(store, harms);
    return convert(store, 'file.json', 'json');
  }
  if (format === 'absurd') {
    const names = Object.keys(absurd);
    await store.put('file.json', Buffer.from(absurd[names[one.which % names.length] as string]!()));
    return convert(store, 'file.json', 'json');
  }
  await writeManagedExport(store, 'exports/one', 'demo', [paths]);
  if (format === 'firestore-export') await harm(store, harms);
  else {
    // The checksums are right, and what they guard is not.
    const records = createMemoryStore();
    await records.put('record', Buffer.from(JSON.stringify(one.rubbish)));
    await harm(records, harms);
    const bytes = await records.get('record').catch(() => new Uint8Array(3));
    const output = 'exports/one/all_namespaces/all_kinds/output-0';
    await store.put(output, levelDbLog([bytes, ...harms.map(({ bytes: others }) => others)]));
  }
  return convert(store, 'exports/one', 'firestore-export');
}

async function convert(store: BlobStore, path: string, format: 'json' | 'firestore-export'): Promise<void> {
  const { codec } = new BackupHarness();
  await withScratch(async (scratch) => {
    const view = await openForeignView({ store, path, format, database: testDatabase, scratch, codec });
    for await (const _ of view.records());
  });
}

async function readOurs({ format, harms, rubbish, which }: Case, seed: number): Promise<void> {
  const harness = new BackupHarness();
  const [documents] = fc.sample(arbitraryDatabase(10), { numRuns: 1, seed });
  const backupId = await harness.backUp(new MemoryDatabase(documents ?? []));
  const { store, keys, codec } = harness;
  if (format === 'holdfast') await harm(store, harms);
  else await reseal(harness, backupId, which, rubbish);
  const chain = await openChain({ store, backupId, keys, codec });
  for (const reader of chain) await proveBackup(reader, {});
  for await (const _ of viewOfChain(chain).records());
}

/** By somebody who has the key: one thing in the manifest is another. */
async function reseal(
  { store, keys }: BackupHarness,
  backupId: string,
  which: number,
  rubbish: unknown,
): Promise<void> {
  const key = `backups/${backupId}/manifest`;
  const object = new ManifestObject(await store.get(key));
  const clear = object.clear();
  const dataKey = await keys.unwrap(backupId, clear.envelope);
  const places: [Record<string, unknown>, string][] = [];
  const body = { body: await object.open(backupId, dataKey) };
  const visit = (value: Record<string, unknown>) => {
    for (const [name, inner] of Object.entries(value)) {
      places.push([value, name]);
      if (typeof inner === 'object' && inner !== null) visit(inner as Record<string, unknown>);
    }
  };
  visit(body);
  const [parent, name] = places[which % places.length] as [Record<string, unknown>, string];
  parent[name] = rubbish;
  const sealed = await sealManifest(body.body, { content: manifestContent.root, ownerId: backupId, dataKey, clear });
  await store.put(key, sealed.bytes);
}

test(
  'whatever is in a file, reading it ends with a code that says so and no other tenant waits',
  async () => {
    const neighbour = await Neighbour.moveIn(app);
    const outcomes = new Outcomes();
    const run = async (index: number) => {
      const [one] = fc.sample(arbitraryCase, { numRuns: 1, seed: fuzzSeed + index }) as [Case];
      const startedAtMs = performance.now();
      const error = await read(one, fuzzSeed + index).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      const outcome = error === undefined ? 'done' : isEngineError(error) ? error.code : String(error);
      outcomes.add(`${one.format}: ${outcome}`);
      const isFine = (outcome === 'done' || codes.includes(outcome)) && performance.now() - startedAtMs < caseMs;
      const stack = isFine || !(error instanceof Error) ? '' : error.stack?.split('\n').slice(0, 4).join(' | ');
      if (!isFine) outcomes.faults.push(`case ${index}, ${one.format} → ${outcome} ${stack}`);
    };
    await inLanes(Math.min(fuzzCases, 12), lanes, run);
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
