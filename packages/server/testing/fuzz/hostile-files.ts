import type { BlobStore } from '@holdfast/engine';
import fc from 'fast-check';
import { arbitraryDatabase, arbitraryFields, testDatabase } from '../../../engine/fixtures/arbitrary-documents.ts';
import { BackupHarness } from '../../../engine/fixtures/backup-harness.ts';
import { levelDbLog, writeManagedExport } from '../../../engine/fixtures/managed-export-writer.ts';
import { MemoryDatabase } from '../../../engine/fixtures/memory-source.ts';
import { stringifyLossless } from '../../../engine/format/document-json.ts';
import { ManifestObject, manifestContent, sealManifest } from '../../../engine/format/manifest-object.ts';
import { arbitraryHarm, type Harm, harm } from './harm.ts';

/** Backup files that were valid before, each with something changed, cut, doubled or made absurd. */

const formats = ['holdfast', 'sealed', 'firestore-export', 'records', 'json', 'ndjson', 'absurd'] as const;
export type HostileFormat = (typeof formats)[number];

/** A made file, and how to read it. */
export interface HostileFile {
  readonly format: HostileFormat;
  /** The id of one of our backups, or else the file or the folder. */
  readonly path: string;
}

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

const bombs: readonly ((body: Record<string, unknown>) => unknown)[] = [
  () => Array.from({ length: 4_000_000 }, () => ({})),
  (body) => ({ ...body, segments: Array.from({ length: 2_000_000 }, () => []) }),
  (body) => ({ ...body, warnings: Array.from({ length: 1_500_000 }, () => '') }),
];

const arbitraryCase = fc.record({
  format: fc.oneof(
    { weight: 14, arbitrary: fc.constantFrom(...formats.filter((format) => format !== 'absurd')) },
    { weight: 1, arbitrary: fc.constant('absurd' as const) },
  ),
  documents: fc.array(arbitraryFields, { minLength: 1, maxLength: 5 }),
  harms: fc.array(arbitraryHarm, { minLength: 1, maxLength: 3 }),
  rubbish: fc.jsonValue({ maxDepth: 4 }),
  which: fc.nat(),
});
type Case = typeof arbitraryCase extends fc.Arbitrary<infer One> ? One : never;

/** Makes the file of a seed, always the same one. */
export async function makeHostileFile(store: BlobStore, seed: number): Promise<HostileFile> {
  const [one] = fc.sample(arbitraryCase, { numRuns: 1, seed }) as [Case];
  const { format, documents, harms } = one;
  if (format === 'holdfast' || format === 'sealed') return makeOurs(store, one, seed);
  const paths = documents.map((fields, index) => ({ path: `users/${index}`, fields }));
  if (format === 'json') {
    const wrapped = Object.fromEntries(documents.map((data, index) => [index, { data, collections: {} }]));
    const collections = { users: { documents: wrapped } };
    await store.put('file.json', Buffer.from(JSON.stringify({ collections, more: one.rubbish })));
    await harm(store, harms);
    return { format, path: 'file.json' };
  }
  if (format === 'ndjson') {
    const lines = paths.map(({ path, fields }) =>
      stringifyLossless({ name: `${testDatabase}/documents/${path}`, fields }),
    );
    await store.put('file.ndjson', Buffer.from(`${lines.join('\n')}\n`));
    await harm(store, harms);
    return { format, path: 'file.ndjson' };
  }
  if (format === 'absurd') return makeAbsurd(store, one, seed);
  await writeManagedExport(store, 'exports/one', 'demo', [paths]);
  if (format === 'firestore-export') await harm(store, harms);
  else await putRecords(store, one.rubbish, harms);
  return { format, path: 'exports/one' };
}

/** The checksums are right, but their content is not. */
async function putRecords(store: BlobStore, rubbish: unknown, harms: readonly Harm[]): Promise<void> {
  const output = 'exports/one/all_namespaces/all_kinds/output-0';
  await store.put(output, Buffer.from(JSON.stringify(rubbish)));
  await harm(store, harms, output);
  const bytes = await store.get(output).catch(() => new Uint8Array(3));
  await store.put(output, levelDbLog([bytes, ...harms.map(({ bytes: others }) => others)]));
}

async function makeAbsurd(store: BlobStore, { which }: Case, seed: number): Promise<HostileFile> {
  const names = Object.keys(absurd);
  const name = names[which % (names.length + bombs.length)];
  if (name !== undefined) {
    await store.put('file.json', Buffer.from(absurd[name]!()));
    return { format: 'absurd', path: 'file.json' };
  }
  const harness = new BackupHarness(store);
  const backupId = await backUp(harness, seed);
  await reseal(harness, backupId, bombs[which % bombs.length]!);
  return { format: 'sealed', path: backupId };
}

async function backUp(harness: BackupHarness, seed: number): Promise<string> {
  const [documents] = fc.sample(arbitraryDatabase(10), { numRuns: 1, seed });
  return harness.backUp(new MemoryDatabase(documents ?? []));
}

async function makeOurs(store: BlobStore, one: Case, seed: number): Promise<HostileFile> {
  const { format, harms, rubbish, which } = one;
  const harness = new BackupHarness(store);
  const path = await backUp(harness, seed);
  if (format === 'holdfast') await harm(store, harms);
  else await reseal(harness, path, (body) => withOneThingElse(body, which, rubbish));
  return { format, path };
}

/** As by somebody who has the key: changes the manifest. */
async function reseal(
  { store, keys }: BackupHarness,
  backupId: string,
  change: (body: Record<string, unknown>) => unknown,
): Promise<void> {
  const key = `backups/${backupId}/manifest`;
  const object = new ManifestObject(await store.get(key));
  const clear = object.clear();
  const dataKey = await keys.unwrap(backupId, clear.envelope);
  const body = change((await object.open(backupId, dataKey)) as Record<string, unknown>);
  const sealed = await sealManifest(body, { content: manifestContent.root, ownerId: backupId, dataKey, clear });
  await store.put(key, sealed.bytes);
}

function withOneThingElse(manifest: Record<string, unknown>, which: number, rubbish: unknown): unknown {
  const places: [Record<string, unknown>, string][] = [];
  const whole = { manifest };
  const visit = (value: Record<string, unknown>) => {
    for (const [name, inner] of Object.entries(value)) {
      places.push([value, name]);
      if (typeof inner === 'object' && inner !== null) visit(inner as Record<string, unknown>);
    }
  };
  visit(whole);
  const [parent, name] = places[which % places.length] as [Record<string, unknown>, string];
  parent[name] = rubbish;
  return whole.manifest;
}
