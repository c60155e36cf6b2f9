import { expect, test } from 'vitest';
import { testDatabase, testDocument } from '../../fixtures/arbitrary-documents.ts';
import { recordKind } from '../../ports/record.ts';
import { RecordBatchBuilder } from '../segments/record-batch-builder.ts';
import { contentsOf } from './log-segment.ts';

test('changes are counted by collection, whatever the collection is called', () => {
  const names = ['constructor', 'toString', '__proto__', 'users'];
  const builder = new RecordBatchBuilder();
  for (const name of names)
    for (const id of ['1', '2']) {
      const { path, bytes } = testDocument(`${name}/${id}`, {});
      builder.add(recordKind.put, path, bytes);
    }
  const instant = '2026-01-01T00:00:00.000000000Z';
  const stretch = { coveredFrom: instant, coveredThrough: instant, marks: [instant], gap: null };
  const { collections, changes } = contentsOf(builder.take().bytes, testDatabase, stretch);
  expect([Object.entries(collections), changes]).toEqual([names.map((name) => [name, 2]), names.length * 2]);
});
