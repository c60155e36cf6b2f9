import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { recordsOf } from '../conformance/database-under-test.ts';
import { everyKind } from '../conformance/document-source.conformance.ts';
import { testDatabase } from '../fixtures/arbitrary-documents.ts';
import { fieldsOf, harness } from '../fixtures/foreign-files.ts';
import { decodeDocument, encodeDocument, type JsonFields, stringifyLossless } from '../format/document-json.ts';
import { connectFirestore } from '../sources/firestore/connect.ts';
import { createLocalStore } from '../stores/local/local-store.ts';
import { createMemoryStore } from '../stores/memory/memory-store.ts';
import { exportByEmulator, isGoogleEmulatorInstalled, startGoogleEmulator } from '../testing/google-emulator.ts';
import { openForeignView } from './foreign-view.ts';

const database = testDatabase;
const projectId = database.split('/')[1]!;
const vector = { __type__: { stringValue: '__vector__' }, value: { arrayValue: { values: [{ doubleValue: -2.5 }] } } };
const written: readonly { path: string; fields: JsonFields }[] = [
  { path: 'kinds/all', fields: everyKind(database) },
  { path: 'kinds/none', fields: {} },
  { path: 'kinds/vectors', fields: { top: { mapValue: { fields: vector } }, map: nested(vector) } },
  { path: 'kinds/__id7__', fields: { n: { integerValue: '7' } } },
  { path: 'kinds/ünï 😀', fields: { 'a.b': { integerValue: '1' }, ' ': { stringValue: 'x' } } },
  { path: 'kinds/large', fields: { text: { stringValue: 'x'.repeat(40_000) } } },
  { path: 'missing/parent/below/1', fields: { n: { integerValue: '1' } } },
];

function nested(fields: JsonFields): JsonFields[string] {
  return { mapValue: { fields: { v: { mapValue: { fields } } } } };
}

async function expectAllOf(root: string, path: string): Promise<void> {
  const store = await createLocalStore({ root });
  const scratch = createMemoryStore();
  const view = await openForeignView({
    store,
    scratch,
    path,
    database,
    codec: harness.codec,
    format: 'firestore-export',
  });
  const found = await fieldsOf(view);
  expect(Object.keys(found).toSorted()).toEqual(written.map(({ path: each }) => each).toSorted());
  for (const { path: each, fields } of written) {
    const viaBytes = decodeDocument(encodeDocument({ name: 'n', fields })).fields;
    expect(JSON.parse(found[each]!), each).toEqual(JSON.parse(stringifyLossless(viaBytes)));
  }
}

describe("an export that Google's own emulator wrote", () => {
  test('once, is read with every value as it was', async () => {
    await expectAllOf(fileURLToPath(new URL('../fixtures/frozen', import.meta.url)), 'google-emulator');
  });

  test.skipIf(!isGoogleEmulatorInstalled)(
    'just now, is read with every value as it was',
    { tags: 'long' },
    async () => {
      const emulator = await startGoogleEmulator();
      const folder = await mkdtemp(join(tmpdir(), 'holdfast-export-'));
      const connected = connectFirestore({ projectId, connection: { type: 'emulator', host: emulator.address } });
      try {
        const records = recordsOf(database, [...written]);
        const result = await connected.target.apply(records, { mode: 'overwrite', rampUp: false });
        expect(result.written, JSON.stringify(result.errors)).toBe(written.length);
        await exportByEmulator(emulator.address, projectId, folder, 'now');
        await expectAllOf(folder, 'now');
      } finally {
        await connected.close();
        await emulator.stop();

        await rm(folder, { recursive: true, force: true });
      }
    },
  );
});
