import { expect, test } from 'vitest';
import { encodeDocument } from '../../format/document-json.ts';
import type { JournalPage } from '../../format/journal-page.ts';
import type { WriteOutcome } from '../../ports/document-target.ts';
import { recordKind } from '../../ports/record.ts';
import { readRecords } from '../segments/read-records.ts';
import { LostVersion, undoRecords } from './undo-records.ts';

const database = 'projects/p/databases/(default)';
const written = { seconds: 2, nanos: 0 };
const replaced = { seconds: 1, nanos: 0 };
const mebibyte = 1024 * 1024;
const pathOf = (n: number) => `users/${String(n).padStart(6, '0')}`;
const outcomeOf = (n: number) =>
  ({ path: pathOf(n), kind: recordKind.put, result: 'written', replaced, version: written }) as const;
const encoded = (n: number, bytes: number) =>
  encodeDocument({
    name: `${database}/documents/${pathOf(n)}`,
    fields: { text: { stringValue: 'x'.repeat(bytes) } },
    createTime: '1970-01-01T00:00:01Z',
    updateTime: '1970-01-01T00:00:01Z',
  });
/** By their size: what differs from document to document is the path, which is as long in all of them. */
const patterns = new Map<number, Uint8Array>();

/** A copy of its own, because what is held at once is counted. */
function bytesOf(n: number, bytes: number): Uint8Array {
  const pattern = patterns.get(bytes) ?? encoded(0, bytes);
  patterns.set(bytes, pattern);
  const copy = new Uint8Array(pattern);
  copy.set(Buffer.from(pathOf(n)), Buffer.from(pattern.buffer, pattern.byteOffset).indexOf(pathOf(0)));
  return copy;
}

test('the documents of these tests are what encoding each would give', () => {
  expect(Buffer.from(bytesOf(123_456, 1000)).equals(encoded(123_456, 1000))).toBe(true);
});

/** Each document is saved in a page of its own; what became of them follows in pages of many. */
function journalOf(documents: number, perPage: number, bytes: number) {
  const asked = { times: 0 };
  const journal = async function* (): AsyncGenerator<JournalPage> {
    asked.times += 1;
    for (let from = 0; from < documents; from += perPage) {
      const part = Array.from({ length: perPage }, (_, place) => from + place);
      for (const n of part)
        yield { outcomes: [], saved: [{ path: pathOf(n), version: replaced, bytes: bytesOf(n, bytes) }] };
      yield { outcomes: part.toReversed().map(outcomeOf), saved: [] };
    }
  };
  return { journal, asked };
}

async function undone(journal: () => AsyncIterable<JournalPage>) {
  const paths: string[] = [];
  let bytesMost = 0;
  for await (const batch of undoRecords({ journal, before: undefined, database })) {
    for (const { path } of readRecords(batch, database)) paths.push(path);
    bytesMost = Math.max(bytesMost, process.memoryUsage().arrayBuffers);
  }
  return { paths, bytesMost };
}

test('an undo of however many saved documents holds few of them at once and reads its journal once', {
  tags: 'long',
}, async () => {
  const { journal, asked } = journalOf(3000, 100, 250_000);
  const { paths, bytesMost } = await undone(journal);
  expect(paths).toEqual(Array.from({ length: 3000 }, (_, n) => pathOf(n)));
  expect(asked.times).toBe(1);
  expect(bytesMost).toBeLessThan(400 * mebibyte);
});

test('what was saved long before its write is found again', { tags: 'long' }, async () => {
  const { journal, asked } = journalOf(200, 100, 900_000);
  const { paths } = await undone(journal);
  expect(paths).toEqual(Array.from({ length: 200 }, (_, n) => pathOf(n)));
  expect(asked.times).toBeLessThan(12);
});

test('what was never saved is told, also where some was put aside', async () => {
  const { journal } = journalOf(50, 50, 900_000);
  const withLost = async function* () {
    yield* journal();
    yield { outcomes: [outcomeOf(999_999)], saved: [] };
  };
  await expect(undone(withLost)).rejects.toThrow(LostVersion);
});

test('a delete of what had not been saved, because somebody else had deleted it before, is passed over; a put is not', async () => {
  const journalOfKind = (kind: WriteOutcome['kind'], version: WriteOutcome['version']) =>
    async function* (): AsyncGenerator<JournalPage> {
      yield { outcomes: [{ ...outcomeOf(1), kind, version }], saved: [] };
    };
  expect(await undone(journalOfKind(recordKind.delete, null))).toMatchObject({ paths: [] });
  await expect(undone(journalOfKind(recordKind.put, written))).rejects.toThrow(LostVersion);
});
